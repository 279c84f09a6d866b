import type { CampaignParams } from '../../domain/campaigns/campaign-params.ts';
import { profileErrors, profileValuesIn } from '../../domain/campaigns/profile-values.ts';
import type { NewVariant } from '../../domain/campaigns/variants.ts';
import type { FieldError } from '../../domain/core/refusal.ts';
import { listNameableSors } from '../../store/attributes/profile-texts.ts';
import type { Queryable } from '../../store/core/database.ts';

/** Returns an error for each text that names a profile value which there is not. */
export async function findProfileErrors(
  db: Queryable,
  entityId: number,
  { params, variants }: { params: CampaignParams; variants?: readonly Pick<NewVariant, 'params'>[] | null | undefined },
): Promise<FieldError[]> {
  const named = profileValuesIn(params, variants ?? null);
  return named.length === 0 ? [] : profileErrors(named, await listNameableSors(db, entityId));
}

import type * as api from '../../api/attributes/systems-of-records.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CustomerAttribute } from '../../store/attributes/customer-attributes.ts';
import { findSor, type SorType, type SystemOfRecord } from '../../store/attributes/systems-of-records.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { ApiVersion } from '../http/route.ts';

export function showAttribute(attribute: CustomerAttribute, sorType: SorType, version: ApiVersion): api.SorAttribute {
  const { identifier, key, label, valueType, disabled, isIdentifier, isSensitive, isGuessed } = attribute;
  const record = {
    identifier,
    key,
    label,
    value_type: valueType,
    disabled,
    is_identifier: isIdentifier,
    sensitive: isSensitive,
    ...(isGuessed && { guessed: true as const }),
  };
  return version === 3 ? record : { ...record, sources: sorType === 'global' ? ['DEFAULT'] : [] };
}

export function isVisible({ type }: Pick<SystemOfRecord, 'type'>, version: ApiVersion): boolean {
  return version === 2 || type !== 'global';
}

/** Finds the SoR with `find`, which may lock it. Refuses a missing, foreign or hidden one. */
export async function findVisibleSor(
  db: Queryable,
  entityId: number,
  identifier: string,
  version: ApiVersion,
  find: typeof findSor = findSor,
): Promise<SystemOfRecord> {
  const sor = await find(db, entityId, identifier);
  return sor && isVisible(sor, version) ? sor : refuse(404, 'not_found', 'System of record not found');
}

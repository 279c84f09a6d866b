import type { Again } from '../again.ts';
import type { Needs } from '../needs.ts';
import { Refusal } from '../../domain/refusal.ts';
import { collectIdentifiers, updateSubjects } from '../../store/gdpr/identifiers.ts';
import { type GdprClaim, GdprGone, updateGdprFault, updateStage } from '../../store/gdpr/progress.ts';

/** What is wrong with the aliases of somebody takes a person to change. */
const TOO_MANY_AGAIN_MS = 10 * 60_000;

/** Gathers what the people are known by, and goes on with `then`, told how much was new; else when to look again. */
export async function gatherKnown<T>(needs: Needs, claim: GdprClaim, then: (added: number) => Promise<T>): Promise<T | Again> {
  const { db, secrets } = needs;
  const { entityId, runId } = claim;
  await updateStage(db, claim, 'gathering');
  try {
    await updateSubjects(db, secrets, entityId, runId);
    const { added } = await collectIdentifiers(db, entityId, runId);
    needs.boundary('gdpr: collected');
    return await then(added);
  } catch (error) {
    if (!(error instanceof Refusal) || error instanceof GdprGone) throw error;
    await updateGdprFault(db, claim, error.message);
    return { againInMs: TOO_MANY_AGAIN_MS };
  }
}

import { hashesOf } from '../people-keys.ts';
import type { PersonalDataLocation } from '../personal-data-location.ts';

/**
 * Of a location that has keyed hashes alone: it names no person, and stays. `shown`: a query from $1 the entity and $2
 * the hashes.
 */
export function keyedHashes(shown: string): Pick<PersonalDataLocation, 'count' | 'export' | 'erase'> {
  return {
    count: async () => 0,
    async *export({ db, secrets }, entityId, people) {
      const { rows } = await db.query<Record<string, unknown>>(shown, [entityId, hashesOf(secrets, entityId, people)]);
      yield* rows;
    },
    erase: null,
  };
}

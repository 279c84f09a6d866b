/** Counts what a device's deletion would erase, for the user who approves it. */
import type { Queryable } from '../core/database.ts';
import { listIdentifiers, previewIdentifiers } from './identifiers.ts';
import { type LocationDependencies, TABLES_OF_FILES } from './personal-data-location.ts';
import { erasingLocations } from './personal-data-registry.ts';
import type { GdprRequest } from './request-record.ts';
import { listGdprPeople } from './requests.ts';

/** Locations without ids of known type, which hold nothing of a device. */
const WITHOUT_TYPES = new Set(['outbox/', 'scratch/']);
const COUNTED = erasingLocations.filter(({ name }) => !WITHOUT_TYPES.has(name));

/** Maximum number of bytes of file exports that are searched. */
const MAX_FILE_BYTES = 64 * 1024 ** 2;

/** Counts by location; null if there are too many bytes to search. */
export type CountsBeforeApproval = Record<string, number | null>;

/** Counts what a waiting deletion of a device erases in each location. Null for any other request. */
export async function countBeforeApproval(
  deps: Pick<LocationDependencies, 'db' | 'files' | 'secrets'>,
  { entityId, id, type, state, source }: GdprRequest,
): Promise<CountsBeforeApproval | null> {
  if (type !== 'delete' || state !== 'waiting' || source !== 'sdk') return null;
  const [person] = await listGdprPeople(deps.db, entityId, id);
  if (person === undefined || person.userId !== null) return null;
  const people = await previewIdentifiers(
    deps.db,
    entityId,
    async () => id,
    (tx) => listIdentifiers(tx, entityId, id),
  );
  const counts: CountsBeforeApproval = {};
  for (const { name, count, isBuiltFromTables } of COUNTED) {
    // Files come after the tables that they are built from.
    const wasInTables = TABLES_OF_FILES.some((table) => (counts[table] ?? 0) > 0);
    const isTooLarge = isBuiltFromTables === true && (await sumFileBytes(deps.db, entityId)) > MAX_FILE_BYTES;
    const erasure = { round: '', wasInTables, filesBefore: new Date() };
    const rows = isTooLarge ? null : await count({ ...deps, ...NOTHING_BESIDE, erasure }, entityId, people);
    if (rows !== 0) counts[name] = rows;
  }
  return counts;
}

/** Dependencies that no counted location uses. */
const NOTHING_BESIDE = {} as Pick<LocationDependencies, 'outbox' | 'scratch'>;

async function sumFileBytes(db: Queryable, entityId: number): Promise<number> {
  const { rows } = await db.query<{ bytes: number }>(
    `SELECT coalesce(sum(file_bytes), 0)::bigint AS bytes FROM file_jobs
     WHERE entity_id = $1 AND file_key IS NOT NULL`,
    [entityId],
  );
  return rows[0]!.bytes;
}

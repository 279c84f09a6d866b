import { type Database, write } from '../../core/database.ts';
import { countNotedFiles, deleteNotedFiles, noteFileDeletions } from '../../core/file-deletions.ts';
import { archivePrefix } from '../archives.ts';
import { hashesOf, idsOf } from '../people-keys.ts';
import { countRows, type LocationDependencies, type PersonalDataLocation } from '../personal-data-location.ts';
import { IN_REQUESTS } from './gdpr-request-people.ts';

const AREA = 'access/';
const ARCHIVES_OF_THEM = `${IN_REQUESTS} AND p.archive_key IS NOT NULL`;

/**
 * Devices' archives that show records of theirs, $4 their keyed hashes: all of those that were made before this was
 * noted.
 */
const SHOWING_THEM = `gdpr_request_people p WHERE p.entity_id = $1 AND p.archive_key IS NOT NULL AND p.state = 'treated'
  AND coalesce(p.archive_others && $4::bytea[], p.user_id IS NULL)
  AND NOT (coalesce(p.user_id = ANY ($2::text[]), p.device_id = ANY ($3::text[])))`;

/** The message that replaces such an archive. */
const NO_LONGER_THERE = 'The archive held data of another person who was erased since: request it again';

/** Archives that were made for requests for access. */
export const archives: PersonalDataLocation = {
  name: AREA,
  columns: [],
  otherColumns: [],
  holds: 'archives of access requests, for a week',
  foundBy: "the request's people; the other users whose records a device's archive shows, by keyed hash",
  erasedBy: "deleting the file; the device's request then says why",
  async count(deps, entityId, people) {
    const unknown = await Array.fromAsync(listUnknown(deps, entityId));
    const showing = await countRows(deps.db, SHOWING_THEM, [
      ...idsOf(entityId, people),
      hashesOf(deps.secrets, entityId, people),
    ]);
    return (
      unknown.length +
      showing +
      (await countNotedFiles(deps.db, entityId, AREA)) +
      (await countRows(deps.db, ARCHIVES_OF_THEM, idsOf(entityId, people)))
    );
  },
  async *export({ db }, entityId, people) {
    const { rows } = await db.query(
      `SELECT r.identifier AS request, p.ordinal, coalesce(p.user_id, p.device_id) AS customer_id, p.archive_key, p.archive_bytes
       FROM ${ARCHIVES_OF_THEM} AND p.state = 'treated' ORDER BY r.id, p.ordinal`,
      idsOf(entityId, people),
    );
    yield* rows;
  },
  // One that is being written is left to its writer, who gives up when its row says so.
  async erase(deps, entityId, people) {
    // What a repeat finds that was killed after the commit.
    await deleteNotedFiles(deps, entityId, AREA);
    const { rows } = await deps.db.query<ArchiveRow>(
      `SELECT p.request_id, p.ordinal, p.archive_key FROM ${ARCHIVES_OF_THEM} AND p.state <> 'building'`,
      idsOf(entityId, people),
    );
    const { rows: showing } = await deps.db.query<ArchiveRow>(
      `SELECT p.request_id, p.ordinal, p.archive_key FROM ${SHOWING_THEM}`,
      [...idsOf(entityId, people), hashesOf(deps.secrets, entityId, people)],
    );
    let deleted = 0;
    for (const row of rows) deleted += await deleteArchive(deps, entityId, row);
    for (const row of showing) deleted += await deleteArchive(deps, entityId, row, NO_LONGER_THERE);
    for await (const key of listUnknown(deps, entityId)) {
      await write(deps.db, async (tx) => {
        if ((await noteFileDeletions(tx, entityId, [key])) > 0) await deps.tally?.(tx, 1);
      });
      await deleteNotedFiles(deps, entityId, key);
      deleted += 1;
    }
    return deleted;
  },
};

type ArchiveRow = { request_id: number; ordinal: number; archive_key: string };

async function deleteArchive(
  deps: LocationDependencies,
  entityId: number,
  row: ArchiveRow,
  message: string | null = null,
): Promise<number> {
  const deleted = await write(deps.db, async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE gdpr_request_people SET archive_key = NULL, archive_bytes = NULL, archive_sha256 = NULL, archive_others = NULL,
         message = coalesce($5, message)
       WHERE entity_id = $1 AND request_id = $2 AND ordinal = $3 AND archive_key = $4`,
      [entityId, row.request_id, row.ordinal, row.archive_key, message],
    );
    if (rowCount !== 1) return 0;
    await noteFileDeletions(tx, entityId, [row.archive_key]);
    await deps.tally?.(tx, 1);
    return 1;
  });
  await deleteNotedFiles(deps, entityId, row.archive_key);
  return deleted;
}

/** What was left by somebody who wrote an archive and was killed, or given up: no row has its key. */
async function* listUnknown(
  { db, files }: Pick<LocationDependencies, 'db' | 'files'>,
  entityId: number,
): AsyncGenerator<string> {
  for (const request of await listAccessRequests(db, entityId)) {
    const keys: string[] = [];
    for await (const { key } of files.list(archivePrefix({ identifier: request }))) keys.push(key);
    if (keys.length === 0) continue;
    const { rows } = await db.query<{ key: string }>(
      `SELECT key FROM unnest($3::text[]) AS stored (key) WHERE NOT EXISTS (
         SELECT FROM gdpr_request_people p JOIN gdpr_requests r ON r.entity_id = $1 AND r.id = p.request_id AND r.identifier = $2
         WHERE p.entity_id = $1 AND p.archive_key = stored.key)
         AND NOT EXISTS (SELECT FROM file_deletions d WHERE d.entity_id = $1 AND d.file_key = stored.key)`,
      [entityId, request, keys],
    );
    yield* rows.map(({ key }) => key);
  }
}

async function listAccessRequests(db: Database, entityId: number): Promise<string[]> {
  const { rows } = await db.query<{ identifier: string }>(
    `SELECT identifier FROM gdpr_requests WHERE entity_id = $1 AND request_type = 'access' ORDER BY id`,
    [entityId],
  );
  return rows.map(({ identifier }) => identifier);
}

/** The last HTTP requests of a sync's runs. */
import { ERASED } from '../../domain/core/erased.ts';
import { shorten } from '../../domain/text/text-limits.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, write } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { findErasedTexts } from '../gdpr/erased-texts.ts';

/** Maximum number of requests that a run keeps, and of characters in a path. */
const KEPT_REQUESTS = 1_000;
const PATH_CHARS = 500;

export type SyncRequest = Row<'sync_requests', 'sentAt' | 'method' | 'path' | 'status' | 'milliseconds'>;

/** Counts requests in their run, and keeps the last ones; replaces a path that names a person being erased. */
export async function insertRequests(
  { db, secrets }: { db: Database; secrets: Secrets },
  entityId: number,
  runId: number,
  requests: readonly SyncRequest[],
): Promise<void> {
  const last = requests
    .slice(-KEPT_REQUESTS)
    .map((request) => ({ ...request, path: shorten(request.path, PATH_CHARS) }));
  await write(db, async (tx) => {
    const paths = last.map(({ path }) => decoded(path));
    const named = await findErasedTexts(tx, secrets, entityId, paths, { byWords: false });
    await tx.query('UPDATE sync_runs SET requests = requests + $3 WHERE entity_id = $1 AND id = $2', [
      entityId,
      runId,
      requests.length,
    ]);
    await tx.query(
      `INSERT INTO sync_requests (entity_id, run_id, sent_at, method, path, status, milliseconds)
       SELECT $1, $2, sent_at, method, path, status, milliseconds
       FROM unnest($3::timestamptz[], $4::text[], $5::text[], $6::smallint[], $7::integer[]) WITH ORDINALITY
         AS r (sent_at, method, path, status, milliseconds, n) ORDER BY n`,
      [
        entityId,
        runId,
        last.map(({ sentAt }) => sentAt),
        last.map(({ method }) => method),
        paths.map((path, index) => (named.has(index) ? ERASED : path)),
        last.map(({ status }) => status),
        last.map(({ milliseconds }) => milliseconds),
      ],
    );
    await tx.query(
      `DELETE FROM sync_requests WHERE entity_id = $1 AND run_id = $2 AND id < (
         SELECT id FROM sync_requests WHERE entity_id = $1 AND run_id = $2 ORDER BY id DESC OFFSET $3 - 1 LIMIT 1)`,
      [entityId, runId, KEPT_REQUESTS],
    );
  });
}

/** Decodes a path, so that an id in it is found. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Lists the last requests of a run, newest first. */
export async function listRequests(db: Queryable, entityId: number, runId: number): Promise<SyncRequest[]> {
  return readRows<SyncRequest>(
    await db.query(
      `SELECT sent_at, method, path, status, milliseconds FROM sync_requests
       WHERE entity_id = $1 AND run_id = $2 ORDER BY id DESC`,
      [entityId, runId],
    ),
  );
}

/** Sources of imports: addresses from which files are fetched. */
import { redactedUrl } from '../../domain/core/source-url.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import { readRow, readRows, type Row } from '../core/camel-row.ts';
import type { Queryable, Tx } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import type { PinnedFile } from './pin-file.ts';

/** A file's address. Its query may contain a signature, its headers a password, so both are stored sealed. */
export type RemoteSource = { url: string; headers: Record<string, string> };

export function sealSource(
  secrets: Secrets,
  entityId: number,
  identifier: string,
  { url, headers }: RemoteSource,
): { shownUrl: string; url: string; headers: string } {
  return {
    shownUrl: redactedUrl(url),
    url: secrets.seal(url, cell(entityId, identifier, 'file_url')),
    headers: secrets.seal(JSON.stringify(headers), cell(entityId, identifier, 'request_headers')),
  };
}

export async function findImportSource(
  db: Queryable,
  secrets: Secrets,
  { entityId, jobId, generation }: JobKey,
): Promise<(RemoteSource & { sorId: number }) | null> {
  const rows = readRows<Row<'imports', 'identifier' | 'sorId', { fileUrl: string; requestHeaders: string }>>(
    await db.query(
      `SELECT identifier, sor_id, file_url, request_headers FROM imports
     WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running' AND file_key IS NULL`,
      [entityId, jobId, generation],
    ),
  );
  if (!rows[0]) return null;
  const { identifier, sorId, fileUrl: url, requestHeaders: headers } = rows[0];
  return {
    sorId,
    url: secrets.open(url, cell(entityId, identifier, 'file_url')),
    headers: JSON.parse(secrets.open(headers, cell(entityId, identifier, 'request_headers'))) as Record<string, string>,
  };
}

/** Returns false if the import has ended or belongs to another generation. */
export async function updateFetchedBytes(
  db: Queryable,
  { entityId, jobId, generation }: JobKey,
  bytes: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `UPDATE imports SET fetched_bytes = $4 WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running'`,
    [entityId, jobId, generation, bytes],
  );
  return rowCount === 1;
}

/** Notes why an attempt failed. Null if the import has ended or belongs to another generation. */
export async function updateFetchError(
  db: Queryable,
  { entityId, jobId, generation }: JobKey,
  fault: string,
): Promise<{ tries: number; failingForMs: number } | null> {
  return readRow(
    await db.query<{ tries: number; failing_for_ms: number }>(
      `UPDATE imports SET fetch_tries = fetch_tries + 1, fetch_fault = $4, fetched_bytes = NULL,
       fetch_failing_since = coalesce(fetch_failing_since, now())
     WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running'
     RETURNING fetch_tries AS tries, 1000 * extract(epoch FROM now() - fetch_failing_since)::float8 AS failing_for_ms`,
      [entityId, jobId, generation, fault],
    ),
  );
}

/** Stores the file, and deletes its address. False: it has ended, has a file, or belongs to another generation. */
export async function updateImportFile(
  tx: Tx,
  { entityId, jobId, generation }: JobKey,
  file: PinnedFile,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `UPDATE imports SET file_key = $4, file_bytes = $5, file_sha256 = $6, source_bytes = $7, source_sha256 = $8,
       source_gzip = $9, source_defect = $10, fetched_bytes = $7, fetch_tries = fetch_tries + 1, fetch_fault = NULL,
       fetch_failing_since = NULL, file_url = NULL, request_headers = NULL
     WHERE entity_id = $1 AND id = $2 AND generation = $3 AND state = 'running' AND file_key IS NULL`,
    [
      entityId,
      jobId,
      generation,
      file.fileKey,
      file.fileBytes,
      file.fileSha256,
      file.sourceBytes,
      file.sourceSha256,
      file.sourceGzip,
      file.sourceDefect,
    ],
  );
  return rowCount === 1;
}

function cell(entityId: number, identifier: string, column: 'file_url' | 'request_headers') {
  return { table: 'imports', column, entityId, row: identifier };
}

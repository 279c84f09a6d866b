import { z } from 'zod';
import { findSorById, type SystemOfRecord } from '../../store/attributes/systems-of-records.ts';
import type { Queryable } from '../../store/core/database.ts';
import { countErrorsRedriven, findFileError } from '../../store/imports/import-errors.ts';
import type { Import } from '../../store/imports/import-record.ts';
import { findImportById, listRedrives } from '../../store/imports/imports.ts';

const instant = z.iso.datetime().nullable();
const state = z.enum(['accepted', 'running', 'finished', 'failed', 'canceled']);
const rows = z.object({ read: z.int(), ok: z.int(), ignored: z.int(), failed: z.int() });
const untilStored = 'null until the file is stored';

/** How an import stands (beyond the reference). */
export const ImportProgressRecord = z.object({
  import_id: z.string(),
  jid: z.string(),
  state,
  dry_run: z.boolean().describe('It reports what the import would do, and changes nothing'),
  sor: z.object({ name: z.string(), identifier: z.string(), type: z.string() }).nullable(),
  version: z.int(),
  source: z.object({
    url: z.string().nullable().describe('Where the file comes from, without its query; null for an upload'),
    bytes: z.int().nullable().describe(untilStored),
    sha256: z.string().nullable(),
    compressed: z.boolean().nullable(),
    decompressed_bytes: z.int().nullable(),
    decompressed_sha256: z.string().nullable(),
  }),
  fetched_bytes: z.int().nullable().describe('Of the attempt to fetch the file; null for an upload'),
  fetch: z.object({ tries: z.int(), fault: z.string().nullable() }).nullable()
    .describe('How often the file was asked for, and why the last time came to nothing'),
  failure: z.string().nullable().describe('Why the file as a whole could not be imported'),
  defect: z.string().nullable().describe('Why the end of the file could not be read'),
  rows: rows.extend({ open: z.int().describe('Ignored and failed rows that no re-drive has brought since') }),
  errors_by_type: z.record(z.string(), z.int()).describe('Rows ignored and failed, by error type'),
  bytes_read: z.int().describe('Of the decompressed file'),
  next_line: z.int().describe('All rows before this line are done'),
  rate: z.number().nullable().describe('Rows per second since the start'),
  received_at: instant,
  started_at: instant,
  ended_at: instant,
  expected_end_at: instant.describe('From the bytes read so far; null where it is unknown'),
  parent_id: z.string().nullable().describe('The import whose errors this one re-drives'),
  redrives: z.array(z.object({ import_id: z.string(), state, rows })),
  mail: z.object({ state: z.enum(['sending', 'sent', 'not_sent', 'unknown']), tries: z.int(), reason: z.string().nullable() })
    .nullable().describe('null where none was sent yet, or none is wanted'),
});

/** An import with what belongs to it. */
type ImportInContext = {
  job: Import;
  /** Null once it is deleted. */
  sor: SystemOfRecord | null;
  parent: Import | null;
  redrives: Import[];
  /** Rows that came after all. */
  redriven: number;
  failure: string | null;
};

/** How an import stands at `now`, with its re-drives beside it. */
export async function viewImportProgress(db: Queryable, job: Import, now: Date): Promise<z.input<typeof ImportProgressRecord>> {
  const { entityId, id, sorId, parentId } = job;
  const redrives = await listRedrives(db, entityId, id);
  return showImportProgress({
    job,
    redrives,
    sor: await findSorById(db, entityId, sorId),
    parent: parentId === null ? null : await findImportById(db, entityId, parentId),
    redriven: redrives.length > 0 ? await countErrorsRedriven(db, entityId, id) : 0,
    failure: job.state === 'failed' ? await findFileError(db, entityId, id) : null,
  }, now);
}

export function showImportProgress(
  { job, sor, parent, redrives, redriven, failure }: ImportInContext, now: Date,
): z.input<typeof ImportProgressRecord> {
  const seconds = job.startedAt ? ((job.endedAt ?? now).getTime() - job.startedAt.getTime()) / 1000 : 0;
  return {
    import_id: job.identifier,
    jid: job.jid,
    state: job.state,
    dry_run: job.dryRun,
    sor: sor && { name: sor.name, identifier: sor.identifier, type: sor.type },
    version: job.version,
    source: showSource(job),
    fetched_bytes: job.fetchedBytes,
    fetch: job.shownUrl === null ? null : { tries: job.fetchTries, fault: job.fetchFault },
    failure,
    defect: job.file?.sourceDefect ?? null,
    rows: { ...showRows(job), open: job.rowsIgnored + job.rowsFailed - redriven },
    errors_by_type: job.errorsByType,
    bytes_read: job.nextOffset,
    next_line: job.nextLine,
    rate: seconds > 0 ? Math.round((job.rowsIn / seconds) * 10) / 10 : null,
    received_at: job.receivedAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    ended_at: job.endedAt?.toISOString() ?? null,
    expected_end_at: expectedEnd(job, seconds, now)?.toISOString() ?? null,
    parent_id: parent?.identifier ?? null,
    redrives: redrives.map((redrive) => ({ import_id: redrive.identifier, state: redrive.state, rows: showRows(redrive) })),
    mail: job.mail,
  };
}

function showRows({ rowsIn, rowsOk, rowsIgnored, rowsFailed }: Import): z.input<typeof rows> {
  return { read: rowsIn, ok: rowsOk, ignored: rowsIgnored, failed: rowsFailed };
}

function showSource({ shownUrl, file }: Import): z.input<typeof ImportProgressRecord>['source'] {
  return {
    url: shownUrl,
    bytes: file?.sourceBytes ?? null,
    sha256: file?.sourceSha256.toString('hex') ?? null,
    compressed: file?.sourceGzip ?? null,
    decompressed_bytes: file?.fileBytes ?? null,
    decompressed_sha256: file?.fileSha256.toString('hex') ?? null,
  };
}

function expectedEnd({ state: stands, nextOffset, file }: Import, seconds: number, now: Date): Date | null {
  if (stands !== 'running' || !file || nextOffset === 0 || seconds <= 0) return null;
  const secondsLeft = (file.fileBytes - nextOffset) * (seconds / nextOffset);
  return new Date(now.getTime() + secondsLeft * 1000);
}

import type * as api from '../../api/imports/imports.ts';
import { findSorById, type SystemOfRecord } from '../../store/attributes/systems-of-records.ts';
import type { Queryable } from '../../store/core/database.ts';
import { countErrorsSettled, findFileError } from '../../store/imports/import-errors.ts';
import type { Import } from '../../store/imports/import-record.ts';
import { findImportById, listRedrives } from '../../store/imports/imports.ts';
import { findInternalError } from '../jobs/show-internal-error.ts';
import { stageOf } from '../jobs/show-stage.ts';

/** An import with what belongs to it. */
type ImportInContext = {
  job: Import;
  /** Null once it is deleted. */
  sor: SystemOfRecord | null;
  parent: Import | null;
  redrives: Import[];
  /** Rows that came after all. */
  settled: number;
  failure: string | null;
  internalError: api.ImportProgress['internal_error'];
};

/** How an import stands at `now`, with its re-drives beside it. */
export async function viewImportProgress(db: Queryable, job: Import, now: Date): Promise<api.ImportProgress> {
  const { entityId, id, sorId, parentId } = job;
  const redrives = await listRedrives(db, entityId, id);
  return showImportProgress(
    {
      job,
      redrives,
      sor: await findSorById(db, entityId, sorId),
      parent: parentId === null ? null : await findImportById(db, entityId, parentId),
      settled: await countErrorsSettled(db, entityId, id),
      failure: job.state === 'failed' ? await findFileError(db, entityId, id) : null,
      internalError: await findInternalError(db, 'import', job),
    },
    now,
  );
}

export function showImportProgress(
  { job, sor, parent, redrives, settled, failure, internalError }: ImportInContext,
  now: Date,
): api.ImportProgress {
  const seconds = job.startedAt ? ((job.endedAt ?? now).getTime() - job.startedAt.getTime()) / 1000 : 0;
  return {
    import_id: job.identifier,
    jid: job.jid,
    state: job.state,
    stage: stageOf(job),
    dry_run: job.dryRun,
    sor: sor && { name: sor.name, identifier: sor.identifier, type: sor.type },
    version: job.version,
    source: showSource(job),
    file: showFormat(job),
    columns: showColumns(job),
    fetched_bytes: job.fetchedBytes,
    fetch: job.shownUrl === null ? null : { tries: job.fetchTries, fault: job.fetchFault },
    failure,
    internal_error: internalError,
    defect: job.file?.sourceDefect ?? null,
    rows: { ...showRows(job), open: Math.max(0, job.rowsIgnored + job.rowsFailed - job.cellsEmpty - settled) },
    errors_by_type: job.errorsByType,
    suspicious_ids: job.suspiciousIds,
    similar_ids: job.similarIds === null ? null : { count: job.similarIds, examples: job.similarIdLines ?? [] },
    bytes_read: job.nextOffset,
    next_line: job.nextLine,
    rate: seconds > 0 ? Math.round((job.rowsIn / seconds) * 10) / 10 : null,
    received_at: job.receivedAt.toISOString(),
    started_at: job.startedAt?.toISOString() ?? null,
    ended_at: job.endedAt?.toISOString() ?? null,
    expected_end_at: expectedEnd(job, seconds, now)?.toISOString() ?? null,
    parent_id: parent?.identifier ?? null,
    redrives: redrives.map((redrive) => ({
      import_id: redrive.identifier,
      state: redrive.state,
      rows: showRows(redrive),
    })),
    mail: job.mail,
  };
}

function showRows({ rowsIn, rowsOk, rowsIgnored, rowsFailed }: Import): api.RowCounts {
  return { read: rowsIn, ok: rowsOk, ignored: rowsIgnored, failed: rowsFailed };
}

function showFormat({ fileFormat, fileSettings }: Import): api.ImportProgress['file'] {
  if (fileFormat === null) return null;
  const { format, delimiter, encoding, decimal, sheet } = fileFormat;
  const { nullMarker, dates } = fileSettings;
  return { format, delimiter, encoding, decimal, sheet, null_marker: nullMarker ?? null, dates: dates ?? 'strict' };
}

function showColumns({ columnMapping, tableLayout, cellsEmpty, cellsUnnamed }: Import): api.ImportProgress['columns'] {
  if (columnMapping === null) return null;
  return {
    ...columnMapping,
    ignored: tableLayout?.ignored ?? null,
    ignored_count: tableLayout?.ignoredCount ?? null,
    empty_cells: cellsEmpty,
    unnamed_cells: cellsUnnamed,
  };
}

function showSource({ shownUrl, file, fileFormat }: Import): api.ImportProgress['source'] {
  return {
    url: shownUrl,
    bytes: file?.sourceBytes ?? null,
    sha256: file?.sourceSha256.toString('hex') ?? null,
    compressed: file === null ? null : file.sourceGzip || fileFormat?.isZip === true,
    decompressed_bytes: file?.fileBytes ?? null,
    decompressed_sha256: file?.fileSha256.toString('hex') ?? null,
  };
}

function expectedEnd({ state: stands, nextOffset, file }: Import, seconds: number, now: Date): Date | null {
  if (stands !== 'running' || !file || nextOffset === 0 || seconds <= 0) return null;
  const secondsLeft = (file.fileBytes - nextOffset) * (seconds / nextOffset);
  return new Date(now.getTime() + secondsLeft * 1000);
}

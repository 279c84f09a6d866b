/** Serves a file by its link. */
import { downloadFile } from '../../api/files/file-exports.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { FILE_DAYS, FILE_TYPES } from '../../domain/files/file-format.ts';
import { insertAuditEntry } from '../../store/accounts/audit-log.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { openFile } from '../../store/core/open-file.ts';
import { findFileJobOfLink } from '../../store/files/file-jobs-across-entities.ts';
import { type FileJob, isFileKept } from '../../store/files/file-jobs.ts';
import { isFileToken } from '../../store/files/file-link.ts';
import { bare, Reply } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { findInternalError } from '../jobs/show-internal-error.ts';
import { stageOf } from '../jobs/show-stage.ts';

const download = route(
  downloadFile,
  async ({ params, query: { token = '' }, address, isHead }, { db, files, secrets }) => {
    const { file_identifier: identifier } = params;
    // Checked before any look-up: it costs one hash.
    if (!isFileToken(secrets, identifier, token)) return refuseLink();
    const job = await findKeptJob(db, identifier);
    if (!job.file) return showState(db, job);
    const bytes = await openFile(files, job.file.key);
    if (!bytes) {
      const now = await findKeptJob(db, identifier);
      // An erasure has restarted the file, or it is lost.
      return now.file?.key === job.file.key ? refuseLink() : showState(db, now);
    }
    const reply = new Reply(bytes, 200, headersOf(job, job.file.bytes));
    if (isHead) return reply;
    try {
      await write(db, (tx) =>
        insertAuditEntry(tx, job.entityId, {
          actorKind: 'system',
          address,
          action: 'read',
          subjectKind: 'file',
          subject: identifier,
          details: { what: job.kind },
        }),
      );
    } catch (error) {
      bytes.destroy();
      throw error;
    }
    return reply;
  },
);

async function findKeptJob(db: Queryable, identifier: string): Promise<FileJob> {
  const job = await findFileJobOfLink(db, identifier);
  if (!job || !isFileKept(job, new Date())) return refuseLink();
  return job.state === 'failed'
    ? refuse(400, 'file_failed', job.failure?.message ?? 'The file could not be built')
    : job;
}

async function showState(db: Queryable, job: FileJob): Promise<Reply> {
  const { state, rowsWritten } = job;
  const error = await findInternalError(db, 'file', job);
  const result = { state, stage: stageOf(job), rows_written: rowsWritten, internal_error: error };
  return bare({ success: true, result }, 202);
}

function headersOf({ kind, format, endedAt }: FileJob, bytes: number): Record<string, string> {
  return {
    'content-type': FILE_TYPES[format],
    'content-length': String(bytes),
    'cache-control': 'no-store',
    'content-disposition': `attachment; filename="${kind}-${endedAt!.toISOString().slice(0, 10)}.${format}"`,
  };
}

function refuseLink(): never {
  const message = `This link leads to no file, or no longer: files are kept for ${FILE_DAYS} days. Ask for the file again.`;
  return refuse(400, 'bad_request', message, {
    messages: ['file_identifier', 'token'].map((element) => ({ element, severity: 'error', message })),
  });
}

export const downloadFileRoutes: Route[] = [download];

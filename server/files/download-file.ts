import { downloadFile } from '../../api/files/file-exports.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { FILE_DAYS, FILE_TYPES } from '../../domain/files/file-format.ts';
import { insertAuditEntry } from '../../store/accounts/audit-log.ts';
import { write } from '../../store/core/database.ts';
import { findFileJobOfLink } from '../../store/files/file-jobs-across-entities.ts';
import { type FileJob, isFileKept } from '../../store/files/file-jobs.ts';
import { isFileToken } from '../../store/files/file-link.ts';
import { bare, Reply } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';

const download = route(downloadFile, async ({ params, query: { token = '' }, address }, { db, files, secrets }) => {
  const { file_identifier: identifier } = params;
  // Before anything is looked up: a token costs a hash.
  if (!isFileToken(secrets, identifier, token)) return refuseLink();
  const job = await findFileJobOfLink(db, identifier);
  if (!job || !isFileKept(job, new Date())) return refuseLink();
  if (job.state === 'failed') return refuse(400, 'file_failed', job.failure?.message ?? 'The file could not be built');
  if (!job.file) return bare({ success: true, result: { state: job.state, rows_written: job.rowsWritten } }, 202);
  // Should it be gone, nothing was sent yet.
  if (await files.size(job.file.key) === null) return refuseLink();
  await write(db, (tx) => insertAuditEntry(tx, job.entityId, {
    actorKind: 'system', address, action: 'read', subjectKind: 'file', subject: identifier, details: { what: job.kind },
  }));
  return new Reply(files.read(job.file.key), 200, headersOf(job, job.file.bytes));
});

/** No cache between keeps it. */
function headersOf({ kind, format, endedAt }: FileJob, bytes: number): Record<string, string> {
  return {
    'content-type': FILE_TYPES[format], 'content-length': String(bytes), 'cache-control': 'no-store',
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

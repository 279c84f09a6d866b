import type { Mail } from '../../connectors/smtp/mailer.ts';
import { importMail, type ImportReport } from '../../domain/imports/import-mail.ts';
import type { JobClaim } from '../../domain/jobs/job.ts';
import { findMailFacts } from '../../store/imports/import-mails.ts';
import type { Import } from '../../store/imports/import-record.ts';
import { findImport, findImportById } from '../../store/imports/imports.ts';
import { mailOnce } from '../core/mail-once.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';

/** Tells the people of the System of Records how the import ended. */
export async function mailReport(
  deps: Dependencies,
  { entityId, jobId, identifier }: JobClaim,
): Promise<RetryAfter | null> {
  const job = await findImport(deps.db, entityId, identifier);
  if (!job) return null;
  return mailOnce(deps, { table: 'imports', entityId, id: jobId, identifier }, await composed(deps, job), 'import');
}

/** All that can fail without a mail on its way. */
async function composed({ db, publicUrl }: Dependencies, job: Import): Promise<Omit<Mail, 'messageId'>> {
  const { sorIdentifier, to } = await findMailFacts(db, job.entityId, job.sorId);
  const parent = job.parentId === null ? null : await findImportById(db, job.entityId, job.parentId);
  const facts = {
    sorId: sorIdentifier,
    hasFileError: job.state === 'failed',
    publicUrl,
    parentId: parent?.identifier ?? null,
  };
  const { subject, text } = importMail(reportOf(job, facts));
  return { to, subject, text };
}

type Facts = Pick<ImportReport, 'sorId' | 'hasFileError' | 'parentId'> & { publicUrl: string };

function reportOf(job: Import, { publicUrl, ...facts }: Facts): ImportReport {
  return {
    ...facts,
    importId: job.identifier,
    jid: job.jid,
    state: job.state === 'finished' ? 'finished' : 'failed',
    dryRun: job.dryRun,
    rows: { read: job.rowsIn, ok: job.rowsOk, ignored: job.rowsIgnored, failed: job.rowsFailed },
    errorsByType: job.errorsByType,
    hasDefect: (job.file?.sourceDefect ?? null) !== null,
    startedAt: (job.startedAt ?? job.receivedAt).toISOString(),
    endedAt: (job.endedAt ?? job.receivedAt).toISOString(),
    link: `${publicUrl}/api/attribute_values/imports/${job.identifier}`,
  };
}

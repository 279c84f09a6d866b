import type { ImportClaim } from './import-claim.ts';
import type { Needs } from './needs.ts';
import type { Mail } from '../connectors/mailer.ts';
import { importMail, type ImportReport } from '../domain/import-mail.ts';
import { write } from '../store/database.ts';
import { findFileError } from '../store/import-errors.ts';
import { beginImportMail, findMailFacts, updateImportMail } from '../store/import-mails.ts';
import type { Import } from '../store/import-record.ts';
import { findImport, findImportById } from '../store/imports.ts';
import type { Again } from './again.ts';

/** A mail that the server could not take is tried again so often, the last time about half an hour later. */
const TRIES = 6;
const FIRST_WAIT_MS = 60_000;

/**
 * Tells the people of the System of Records how the import ended. The attempt is noted down before it is made and its
 * outcome after: a mail of which nobody knows whether it arrived is not sent again.
 */
export async function mailReport(needs: Needs, { entityId, importId, identifier }: ImportClaim): Promise<Again | null> {
  const { db, boundary } = needs;
  const job = await findImport(db, entityId, identifier);
  if (!job) return null;
  const mail = await composed(needs, job);
  const attempt = await write(db, (tx) => beginImportMail(tx, entityId, importId));
  if (!attempt) return null;
  boundary('import: mail noted');
  const sent = await send(needs, mail);
  boundary('import: mail sent');
  await updateImportMail(db, entityId, importId, sent.outcome, sent.reason);
  return sent.isRetryable && attempt.tries < TRIES ? { againInMs: FIRST_WAIT_MS * 2 ** (attempt.tries - 1) } : null;
}

/** All that can fail without a mail on its way. */
async function composed({ db, publicUrl }: Needs, job: Import): Promise<Mail> {
  const { sorName, to } = await findMailFacts(db, job.entityId, job.sorId);
  const parent = job.parentId === null ? null : await findImportById(db, job.entityId, job.parentId);
  const fileError = await findFileError(db, job.entityId, job.id);
  const { subject, text } = importMail(reportOf(job, { sorName, fileError, publicUrl, parentId: parent?.identifier ?? null }));
  return { to, subject, text, messageId: `<${job.identifier}@${new URL(publicUrl).hostname}>` };
}

async function send({ mailer }: Needs, mail: Mail) {
  const result = await mailer.send(mail);
  if (result.outcome !== 'sent') {
    const { outcome, reason } = result;
    return { outcome, reason, isRetryable: result.outcome === 'not_sent' && result.retryable };
  }
  const reason = result.rejected > 0 ? `the mail server refused ${result.rejected} of ${mail.to.length} recipients` : null;
  return { outcome: 'sent' as const, reason, isRetryable: false };
}

type Facts = Pick<ImportReport, 'sorName' | 'fileError' | 'parentId'> & { publicUrl: string };

function reportOf(job: Import, { publicUrl, ...facts }: Facts): ImportReport {
  return {
    ...facts,
    importId: job.identifier,
    jid: job.jid,
    state: job.state === 'finished' ? 'finished' : 'failed',
    dryRun: job.dryRun,
    rows: { read: job.rowsIn, ok: job.rowsOk, ignored: job.rowsIgnored, failed: job.rowsFailed },
    errorsByType: job.errorsByType,
    defect: job.file?.sourceDefect ?? null,
    startedAt: (job.startedAt ?? job.receivedAt).toISOString(),
    endedAt: (job.endedAt ?? job.receivedAt).toISOString(),
    link: `${publicUrl}/api/attribute_values/imports/${job.identifier}`,
  };
}

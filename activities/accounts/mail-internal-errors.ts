import { randomUUID } from 'node:crypto';
import { TooManyWait } from '../../domain/core/semaphore.ts';
import { internalErrorMail } from '../../domain/jobs/internal-error-mail.ts';
import { listSuperadminAddresses } from '../../store/accounts/users.ts';
import { listNewInternalErrors, takeInternalErrorNotice } from '../../store/jobs/internal-errors.ts';
import { inSlot } from '../core/in-slot.ts';
import { type MailDependencies, TO_OPERATOR } from '../core/mail-once.ts';

/**
 * Mails superadmins about new internal errors, all processes together once an hour at most. The turn is taken before
 * the mail is sent.
 */
export async function mailInternalErrors(deps: MailDependencies): Promise<void> {
  await inSlot(deps.takeMailSlot, TO_OPERATOR, () => mailInSlot(deps)).catch((error: unknown) => {
    // The next sweep tries again; the mails of accounts come first.
    if (!(error instanceof TooManyWait)) throw error;
  });
}

async function mailInSlot({ db, mailer, publicUrl }: MailDependencies): Promise<void> {
  if (!(await takeInternalErrorNotice(db))) return;
  const to = await listSuperadminAddresses(db);
  const errors = await listNewInternalErrors(db);
  if (to.length === 0 || errors.length === 0) return;
  const messageId = `<internal-errors.${randomUUID()}@${new URL(publicUrl).hostname}>`;
  await mailer.send({ to, messageId, ...internalErrorMail(errors, publicUrl) });
}

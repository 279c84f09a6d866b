import { randomUUID } from 'node:crypto';
import { internalErrorMail } from '../../domain/jobs/internal-error-mail.ts';
import { listSuperadminAddresses } from '../../store/accounts/users.ts';
import { listNewInternalErrors, takeInternalErrorNotice } from '../../store/jobs/internal-errors.ts';
import type { MailDependencies } from '../core/mail-once.ts';

/** Mails superadmins about new internal errors, all processes together once an hour at most. The turn is taken before the mail is sent. */
export async function mailInternalErrors({ db, mailer, publicUrl }: Omit<MailDependencies, 'takeMailSlot'>): Promise<void> {
  if (!await takeInternalErrorNotice(db)) return;
  const to = await listSuperadminAddresses(db);
  const errors = await listNewInternalErrors(db);
  if (to.length === 0 || errors.length === 0) return;
  const messageId = `<internal-errors.${randomUUID()}@${new URL(publicUrl).hostname}>`;
  await mailer.send({ to, messageId, ...internalErrorMail(errors, publicUrl) });
}

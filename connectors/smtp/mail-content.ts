import type { SendMailOptions } from 'nodemailer';
import type { Mail } from './mailer.ts';

/**
 * A mail as nodemailer takes it. The program's version goes to nobody, and no out-of-office reply comes back (RFC
 * 3834).
 */
export function mailContent({ to, subject, text, messageId }: Mail, from: string): SendMailOptions {
  return {
    from,
    subject,
    text,
    messageId,
    // As objects, so that no address is read as a list of them.
    to: to.map((address) => ({ name: '', address })),
    headers: { 'Auto-Submitted': 'auto-generated' },
    xMailer: false,
    disableFileAccess: true,
    disableUrlAccess: true,
  };
}

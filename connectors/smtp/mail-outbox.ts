import { randomBytes } from 'node:crypto';
import { createTransport } from 'nodemailer';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { mailContent } from './mail-content.ts';
import type { Mail, MailOutcome } from './mailer.ts';

/** Takes files whole or not at all. */
export type Outbox = { put(name: string, bytes: AsyncIterable<Uint8Array>): Promise<unknown> };

/** Stands for a mail server: each mail is a file (RFC 5322). */
export function outboxDelivery(outbox: Outbox, from: string): (mail: Mail) => Promise<MailOutcome> {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  const nextName = fileNames();
  return async (mail) => {
    try {
      const { message } = await composer.sendMail(mailContent(mail, from));
      await outbox.put(nextName(), inOnePiece(message as Buffer));
      return { outcome: 'filed' };
    } catch (error) {
      const { code, errorClass } = internalErrorOf(error);
      const reason = `The outbox could not be written (${code ?? errorClass}): check the file store (MILLRACE_FILES).`;
      return { outcome: 'not_sent', retryable: true, reason };
    }
  };
}

async function* inOnePiece(message: Buffer): AsyncGenerator<Buffer> {
  yield message;
}

/**
 * Names that sort by time, also within a millisecond and when the clock is set back; the rest keeps processes apart.
 */
function fileNames(): () => string {
  let last = 0;
  return () => {
    last = Math.max(last + 1, Date.now());
    return `${new Date(last).toISOString().replaceAll(/[:.]/g, '-')}-${randomBytes(4).toString('hex')}.eml`;
  };
}

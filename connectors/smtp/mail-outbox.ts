import { randomBytes } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { mailContent } from './mail-content.ts';
import type { Mail, MailOutcome } from './mailer.ts';

/** Stands for a mail server: each mail is a file (RFC 5322), for this user alone. */
export function outboxDelivery(folder: string, from: string): (mail: Mail) => Promise<MailOutcome> {
  const composer = createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
  const nextName = fileNames();
  return async (mail) => {
    try {
      const { message } = await composer.sendMail(mailContent(mail, from));
      await putAside(folder, nextName(), message as Buffer);
      return { outcome: 'filed' };
    } catch (error) {
      const { code, errorClass } = internalErrorOf(error);
      const reason = `The outbox could not be written (${code ?? errorClass}): check the folder's rights and its disk's space.`;
      return { outcome: 'not_sent', retryable: true, reason };
    }
  };
}

/** Written aside and renamed, so that nobody reads half a mail. */
async function putAside(folder: string, name: string, bytes: Buffer): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const unfinished = join(folder, `.${name}.unfinished`);
  try {
    await writeFile(unfinished, bytes, { mode: 0o600, flag: 'wx', flush: true });
    await rename(unfinished, join(folder, name));
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
}

/** Names that sort by time, also within a millisecond and when the clock is set back; the rest keeps processes apart. */
function fileNames(): () => string {
  let last = 0;
  return () => {
    last = Math.max(last + 1, Date.now());
    return `${new Date(last).toISOString().replaceAll(/[:.]/g, '-')}-${randomBytes(4).toString('hex')}.eml`;
  };
}

import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accountMailSteps } from '../../../activities/accounts/account-mails.ts';
import { openAllPlaces } from '../../../activities/core/open-all-places.ts';
import type { Dependencies } from '../../../activities/dependencies.ts';
import { openMailer } from '../../../connectors/smtp/mail.ts';
import type { Mailer } from '../../../connectors/smtp/mailer.ts';
import { onFileEnd } from '../core/clean-up.ts';
import type { TestStore } from '../core/database.ts';
import { rememberSecret } from '../core/people.ts';
import { parseMail } from '../core/smtp.ts';
import { folderFiles } from '../../../connectors/file-store/folder-files.ts';

export type AccountMail = { to: string; subject: string; text: string; link: string; token: string };

export type Post = {
  /** Does what the sweep does, and returns the mails that lie in the outbox since. */
  deliver(boundary?: Dependencies['boundary']): Promise<AccountMail[]>;
  /** The link's token in the one mail to the address. */
  tokenFor(email: string): Promise<string>;
};

/** Mails about accounts, by the real outbox or another mailer, without Temporal around. */
export async function accountPost({ db }: TestStore, mailer?: Mailer): Promise<Post> {
  const outbox = await mkdtemp(join(tmpdir(), `millrace-post-${randomBytes(3).toString('hex')}-`));
  onFileEnd(() => rm(outbox, { recursive: true, force: true }));
  const log = { info() {}, warn() {}, error() {} };
  const { takeMailSlot } = openAllPlaces();
  const used = mailer ?? openMailer({ outbox: folderFiles(outbox), from: 'millrace@example.com' });
  const deliver: Post['deliver'] = async (boundary = () => {}) => {
    await accountMailSteps({
      db,
      log,
      mailer: used,
      takeMailSlot,
      publicUrl: 'http://millrace.test',
      boundary,
    }).sendAccountMails();
    return takeMails(outbox);
  };
  const tokenFor = async (email: string) => {
    const mails = (await deliver()).filter(({ to }) => to.toLowerCase() === email.toLowerCase());
    if (mails.length !== 1) throw new Error(`${mails.length} mails went to ${email}`);
    return mails[0]!.token;
  };
  return { deliver, tokenFor };
}

async function takeMails(outbox: string): Promise<AccountMail[]> {
  const mails: AccountMail[] = [];
  for (const name of (await readdir(outbox)).filter((each) => each.endsWith('.eml')).toSorted()) {
    const { headers, text } = parseMail(await readFile(join(outbox, name)));
    await rm(join(outbox, name));
    const link = /^http\S+$/m.exec(text)?.[0] ?? '';
    const token = link.split('/').at(-1)!;
    rememberSecret(token);
    mails.push({ to: headers.to!, subject: headers.subject!, text, link, token });
  }
  return mails;
}

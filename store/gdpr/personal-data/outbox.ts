import PostalMime from 'postal-mime';
import { type Queryable, write } from '../../core/database.ts';
import { asBytes } from '../../core/files.ts';
import { isVouchedFor } from '../people-keys.ts';
import type { KnownBy, LocationDependencies, PersonalDataLocation } from '../personal-data-location.ts';
import { itemsNaming } from './items-naming.ts';
import { namesOf, peopleFinder } from './named-in.ts';
import { insertUnreadableMail, UNREADABLE } from '../unreadable-mails.ts';
import { TextMatches } from './text-matches.ts';

/** Mails that no server took, since there is none. They lie in the file store until somebody deletes them. */
export const outboxMails: PersonalDataLocation = {
  name: 'outbox/',
  columns: [],
  otherColumns: [],
  holds: 'mails, if no mail server is set',
  foundBy:
    'the id in subject, text or addresses, once decoded; a file that is no mail moves to ' +
    '`outbox/unreadable/`, and is searched as text. If it stays, request and receipt name it, and so does what needs attention',
  erasedBy: 'deleting the file',
  async count(deps, entityId, people) {
    return (await Array.fromAsync(listMails(deps, entityId, people))).length;
  },
  async *export(deps, entityId, people) {
    const matches = new TextMatches();
    const mails = await Array.fromAsync(listMails(deps, entityId, people));
    if (mails.length > 0) matches.add(null, mails.length);
    yield* matches.records();
  },
  async erase(deps, entityId, people) {
    let deleted = 0;
    for await (const { file } of listMails(deps, entityId, people)) {
      await write(deps.db, async (tx) => deps.tally?.(tx, 1));
      await deps.outbox.delete(file);
      deleted += 1;
    }
    return deleted;
  },
};

async function* listMails(
  deps: LocationDependencies,
  entityId: number,
  people: KnownBy[],
): AsyncGenerator<{ file: string }> {
  const { db, outbox } = deps;
  if (!people.some(isVouchedFor)) return;
  for await (const { key } of outbox.list('')) {
    const mail = key.endsWith('.eml') ? await readMail(deps, key) : null;
    if (mail === null || isAboutAccount(mail.messageId)) continue;
    const named = peopleFinder(people)(mail.said);
    if (named.length === 0 || (await itemsNaming(db, [mail.said], namesOf(entityId, named))).length === 0) continue;
    if (!(await isAnothers(db, entityId, mail.messageId))) yield { file: mail.file };
  }
}

type ReadMail = { file: string; messageId: string; said: string };

/**
 * Null for a file that is gone meanwhile. One that is no mail is moved aside and searched as text, so that it holds up
 * no deletion.
 */
async function readMail({ db, outbox, log }: LocationDependencies, key: string): Promise<ReadMail | null> {
  const bytes = await outbox.readAll(key);
  if (bytes === null) return null;
  const asText = (file: string) => ({ file, messageId: '', said: bytes.toString() });
  if (key.startsWith(UNREADABLE)) {
    await insertUnreadableMail(db, key);
    return asText(key);
  }
  const mail = await PostalMime.parse(bytes).catch(() => null);
  if (mail !== null) {
    const said = JSON.stringify(mail, (name, value: unknown) => (name === 'attachments' ? undefined : value), 1);
    return { file: key, messageId: mail.messageId ?? '', said };
  }
  await outbox.put(UNREADABLE + key, asBytes(bytes));
  await insertUnreadableMail(db, UNREADABLE + key);
  await outbox.delete(key);
  log?.warn({ file: UNREADABLE + key }, 'a file in the outbox is no mail: it was moved aside and is searched as text');
  return asText(UNREADABLE + key);
}

/**
 * An invitation, or a link that sets a password anew: it is for somebody who works with Millrace, and a reader of the
 * archive could log in as that user.
 */
function isAboutAccount(messageId: string): boolean {
  return /^<?(?:inv|rst)_/.test(messageId);
}

/** A mail's id begins with the identifier of what it tells of. One that tells of what is gone may be anybody's. */
async function isAnothers(db: Queryable, entityId: number, messageId: string): Promise<boolean> {
  const told = ['imports', 'sync_runs', 'export_runs', 'gdpr_requests', 'gdpr_mails'].map(
    (table) => `SELECT FROM ${table} WHERE identifier = $2 AND entity_id <> $1`,
  );
  const { rowCount } = await db.query(told.join(' UNION ALL '), [entityId, messageId.replace('<', '').split('@')[0]]);
  return rowCount! > 0;
}

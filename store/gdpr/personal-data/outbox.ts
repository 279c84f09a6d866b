import { buffer } from 'node:stream/consumers';
import PostalMime from 'postal-mime';
import { type Queryable, write } from '../../core/database.ts';
import type { KnownBy, LocationDependencies, PersonalDataLocation } from '../personal-data-location.ts';
import { itemsNaming } from './items-naming.ts';
import { namesOf, peopleFinder } from './named-in.ts';
import { TextMatches } from './text-matches.ts';

/** Mails that no server took, since there is none: they lie in a folder until somebody takes them away. */
export const outboxMails: PersonalDataLocation = {
  name: 'outbox/',
  columns: [],
  otherColumns: [],
  foundBy: 'the id in subject, text or addresses of a mail, once it is decoded',
  async count(deps, entityId, people) {
    return (await Array.fromAsync(listMails(deps, entityId, people))).length;
  },
  async* export(deps, entityId, people) {
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

async function* listMails({ db, outbox }: LocationDependencies, entityId: number, people: KnownBy[]): AsyncGenerator<{ file: string }> {
  for await (const { key } of outbox.list('')) {
    if (!key.endsWith('.eml')) continue;
    const mail = await PostalMime.parse(await buffer(outbox.read(key)));
    if (isAboutAccount(mail.messageId ?? '')) continue;
    const said = JSON.stringify(mail, (name, value: unknown) => (name === 'attachments' ? undefined : value), 1);
    const named = peopleFinder(people)(said);
    if (named.length === 0 || (await itemsNaming(db, [said], namesOf(entityId, named))).length === 0) continue;
    if (!await isAnothers(db, entityId, mail.messageId ?? '')) yield { file: key };
  }
}

/**
 * An invitation, or a link that sets a password anew: it is for somebody who works with Millrace, and a reader of the archive could
 * log in as that user.
 */
function isAboutAccount(messageId: string): boolean {
  return /^<?(?:inv|rst)_/.test(messageId);
}

/** A mail's id begins with the identifier of what it tells of. One that tells of what is gone may be anybody's. */
async function isAnothers(db: Queryable, entityId: number, messageId: string): Promise<boolean> {
  const told = ['imports', 'sync_runs', 'export_runs', 'gdpr_requests', 'gdpr_mails'].map((table) =>
    `SELECT FROM ${table} WHERE identifier = $2 AND entity_id <> $1`);
  const { rowCount } = await db.query(told.join(' UNION ALL '), [entityId, messageId.replace('<', '').split('@')[0]]);
  return rowCount! > 0;
}

/** Locations of personal data in what all features share: kept replies, unsent mails, files of steps. */
import { createReadStream } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import PostalMime from 'postal-mime';
import { type Queryable, write } from '../core/database.ts';
import { asBytes } from '../core/files.ts';
import type { StepFolder } from '../core/scratch.ts';
import { filesOfPeople } from './files-of-people.ts';
import { namedIn, namesOf, peopleFinder } from './named-in.ts';
import { hashesOf, isVouchedFor } from './people-keys.ts';
import type { KnownBy, LocationDependencies, PersonalDataLocation } from './personal-data-location.ts';
import { TextMatches, textsOfPeople } from './texts-of-people.ts';
import { findRaisedAt } from './tombstones.ts';

/** A retry finds its key taken and is refused, since the reply is not kept: nothing is done twice. */
const idempotentRequests = textsOfPeople({
  name: 'idempotent_requests',
  keys: { key_hash: 'bytea' },
  texts: ['reply'],
  otherColumns: 'entity_id, key_hash, fingerprint, holder, received_at, leased_until, http_status, identifier',
  holds: 'a response that is kept for a retry',
  foundBy: 'the id within it',
  erasedBy: 'emptying the response: the server then refuses a retry, because the response is not kept',
  keptFor: '24 hours',
  within: 'identifier',
  emptied: 'reply = NULL',
});

/** The folder of files in the outbox that are no mails. They are listed for staff, and may belong to any entity. */
const UNREADABLE = 'unreadable/';

/** Mails of a service without a mail server. They lie in the file store until staff delete them. */
const outboxMails = filesOfPeople({
  name: 'outbox/',
  holds: 'mails, if no mail server is set',
  foundBy:
    'the id in subject, text or addresses, once decoded; a file that is no mail moves to ' +
    '`outbox/unreadable/`, and is searched as text. If it stays, request and receipt name it, and so does what needs attention',
  erasedBy: 'deleting the file',
  keptFor: 'until an operator removes the file',
  list: listMails,
  shown: () => ({ within: null }),
  async erase(deps, entityId, people) {
    let deleted = 0;
    for await (const { fileKey } of listMails(deps, entityId, people)) {
      await write(deps.db, async (tx) => deps.tally?.(tx, 1));
      await deps.outbox.delete(fileKey);
      deleted += 1;
    }
    return deleted;
  },
});

async function* listMails(
  deps: LocationDependencies,
  entityId: number,
  people: KnownBy[],
): AsyncGenerator<{ fileKey: string }> {
  const { db, outbox } = deps;
  if (!people.some(isVouchedFor)) return;
  for await (const { key } of outbox.list('')) {
    const mail = key.endsWith('.eml') ? await readMail(deps, key) : null;
    if (mail === null || isAboutAccount(mail.messageId)) continue;
    const named = peopleFinder(people)(mail.said);
    if (named.length === 0 || !(await isTextNaming(db, mail.said, namesOf(entityId, named)))) continue;
    if (!(await isAnothers(db, entityId, mail.messageId))) yield { fileKey: mail.file };
  }
}

type ReadMail = { file: string; messageId: string; said: string };

/** Reads a mail; null if the file is gone. Moves a file that is no mail aside, and searches it as text. */
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

export async function insertUnreadableMail(db: Queryable, key: string): Promise<void> {
  await db.query('INSERT INTO unreadable_mails (file) VALUES ($1) ON CONFLICT DO NOTHING', [`outbox/${key}`]);
}

/** Returns whether a mail lets its reader log in as a user of Millrace: an archive leaves it out. */
function isAboutAccount(messageId: string): boolean {
  return /^<?(?:inv|rst)_/.test(messageId);
}

/** Returns whether a text names a person. JSON quotes it, since Postgres refuses some characters. */
async function isTextNaming(db: Queryable, text: string, names: ReturnType<typeof namesOf>): Promise<boolean> {
  const { rowCount } = await db.query(
    `SELECT FROM (SELECT $4::text AS text) t WHERE $1::integer IS NOT NULL AND ${namedIn('text')}`,
    [...names, JSON.stringify(text)],
  );
  return rowCount === 1;
}

/** Returns whether a mail belongs to another entity. A mail whose object is deleted may belong to any. */
async function isAnothers(db: Queryable, entityId: number, messageId: string): Promise<boolean> {
  const told = ['imports', 'sync_runs', 'export_runs', 'gdpr_requests', 'gdpr_mails'].map(
    (table) => `SELECT FROM ${table} WHERE identifier = $2 AND entity_id <> $1`,
  );
  const { rowCount } = await db.query(told.join(' UNION ALL '), [entityId, messageId.replace('<', '').split('@')[0]]);
  return rowCount! > 0;
}

/** The step that writes sheets, which cannot be searched as text. */
const SHEET = 'xls';
const COMMAND = 'command';
/** Maximum difference between the clocks of a machine and its database. */
const CLOCKS_DIFFER_MS = 60_000;
const PIECE_CHARACTERS = 256 * 1024;
/** Maximum length of an escaped character, as in JSON within JSON. */
const ESCAPED_CHARACTERS = 12;

type NamingFolder = StepFolder & { files: string[] };

/**
 * Files that steps write beside database and file store; none about people with tombstones. Erasure removes folders of
 * ended processes, and waits for running steps, except commands: these may run for days.
 */
const scratch: PersonalDataLocation = {
  name: 'scratch/',
  columns: [],
  otherColumns: [],
  holds:
    'files that steps write while they run: tables of an archive, an `.xls` file, the configuration and state ' +
    'of a command',
  foundBy: 'the id within a file of a step that began before the tombstones; every `.xls` file of such a step',
  erasedBy:
    "deleting what processes that are gone left, and a running command's file that names the person. Other " +
    'steps end within minutes and remove their files: the deletion waits for them',
  keptFor: 'until the step ends, within minutes',
  count: async (deps, entityId, people) => (await listNaming(deps, entityId, people)).length,
  async *export(deps, entityId, people) {
    const vouched = people.filter(isVouchedFor);
    const found = vouched.length === 0 ? [] : (await listNaming(deps, entityId, vouched)).filter(isErasable);
    const matches = new TextMatches();
    if (found.length > 0) matches.add(null, found.length);
    yield* matches.records();
  },
  async erase(deps, entityId, people) {
    const found = (await listNaming(deps, entityId, people)).filter(isErasable);
    await deps.scratch.removeGone();
    for (const { isOfLivingProcess, files } of found) {
      if (isOfLivingProcess) for (const file of files) await rm(file, { force: true });
      await write(deps.db, async (tx) => deps.tally?.(tx, 1));
    }
    return found.length;
  },
};

/** Returns whether erasure may delete a folder's files. An archive that is being written does not count itself. */
function isErasable({ isOfLivingProcess, step }: StepFolder): boolean {
  return !isOfLivingProcess || step === COMMAND;
}

async function listNaming(
  { db, secrets, scratch: area }: LocationDependencies,
  entityId: number,
  people: KnownBy[],
): Promise<NamingFolder[]> {
  const found: NamingFolder[] = [];
  // Other steps end by themselves: waits for them whatever the type of the id.
  const asTexts = people.map(({ customerId }) => ({ customerType: 'user_id' as const, customerId }));
  let before: number | undefined;
  for await (const folder of area.list(entityId)) {
    before ??= await findBefore(db, hashesOf(secrets, entityId, people), entityId);
    if (folder.begunAt.getTime() > before) continue;
    const files = await filesNaming(db, folder, entityId, folder.step === COMMAND ? people : asTexts);
    if (files.length > 0) found.push({ ...folder, files });
  }
  return found;
}

/** Returns the time from which steps had the tombstones. */
async function findBefore(db: Queryable, hashes: Buffer[], entityId: number): Promise<number> {
  const raisedAt = await findRaisedAt(db, entityId, hashes);
  return raisedAt === null ? Infinity : raisedAt.getTime() + CLOCKS_DIFFER_MS;
}

async function filesNaming(
  db: Queryable,
  { path, step }: StepFolder,
  entityId: number,
  people: KnownBy[],
): Promise<string[]> {
  const entries = await readdir(path, { recursive: true, withFileTypes: true }).catch(emptyIfMissing);
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  if (step === SHEET) return files;
  const naming: string[] = [];
  for (const file of files) if (await isNaming(db, file, entityId, people)) naming.push(file);
  return naming;
}

async function isNaming(db: Queryable, file: string, entityId: number, people: KnownBy[]): Promise<boolean> {
  const find = peopleFinder(people);
  const overlap = ESCAPED_CHARACTERS * (2 + Math.max(0, ...people.map(({ customerId }) => customerId.length)));
  const bytes = createReadStream(file, { encoding: 'utf8', highWaterMark: PIECE_CHARACTERS });
  try {
    let text = '';
    for await (const piece of bytes) {
      text = text.slice(-overlap) + (piece as string);
      const named = find(text);
      if (named.length > 0 && (await isTextNaming(db, text, namesOf(entityId, named)))) return true;
    }
    return false;
  } catch (error) {
    emptyIfMissing(error as NodeJS.ErrnoException);
    return false;
  } finally {
    bytes.destroy();
  }
}

/** Ignores a missing file: steps end, and remove their files, at any time. */
function emptyIfMissing(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return [];
  throw error;
}

export const coreData: PersonalDataLocation[] = [idempotentRequests, outboxMails, scratch];

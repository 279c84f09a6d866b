import { createReadStream } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Queryable, write } from '../../core/database.ts';
import type { StepFolder } from '../../core/scratch.ts';
import { hashesOf, isVouchedFor } from '../people-keys.ts';
import type { KnownBy, LocationDependencies, PersonalDataLocation } from '../personal-data-location.ts';
import { findRaisedAt } from '../tombstones.ts';
import { itemsNaming } from './items-naming.ts';
import { namesOf, peopleFinder } from './named-in.ts';
import { TextMatches } from './text-matches.ts';

/** The step that writes sheets: its cells and texts cannot be searched. */
const SHEET = 'xls';
/** The step that runs a command. */
const COMMAND = 'command';
/** How far the clocks of a machine and its database may differ. */
const CLOCKS_DIFFER_MS = 60_000;
const PIECE_CHARACTERS = 256 * 1024;
/** The most that an escaped character takes, as in JSON within JSON. */
const ESCAPED_CHARACTERS = 12;

type NamingFolder = StepFolder & { files: string[] };

/**
 * Files that steps write beside database and file store. A step that began after the person's tombstones writes nothing
 * of them. What a process that is gone has left is removed, whosever it is; a step that is under way removes its own
 * when it ends, so it is waited for. A command may run for days, so what names the person in its folder is deleted at
 * once.
 */
export const scratch: PersonalDataLocation = {
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

/** An archive that is being written has the person's data for them: it does not count itself. */
function isErasable({ isOfLivingProcess, step }: StepFolder): boolean {
  return !isOfLivingProcess || step === COMMAND;
}

async function listNaming(
  { db, secrets, scratch: area }: LocationDependencies,
  entityId: number,
  people: KnownBy[],
): Promise<NamingFolder[]> {
  const found: NamingFolder[] = [];
  // Steps that end by themselves are waited for whatever the type of the id: nothing of anybody goes by that.
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

/** Steps that began later have found the tombstones. */
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

/** Searches a file piece by piece; each begins with the end of the piece before. */
async function isNaming(db: Queryable, file: string, entityId: number, people: KnownBy[]): Promise<boolean> {
  const find = peopleFinder(people);
  const overlap = ESCAPED_CHARACTERS * (2 + Math.max(0, ...people.map(({ customerId }) => customerId.length)));
  const bytes = createReadStream(file, { encoding: 'utf8', highWaterMark: PIECE_CHARACTERS });
  try {
    let text = '';
    for await (const piece of bytes) {
      text = text.slice(-overlap) + (piece as string);
      const named = find(text);
      if (named.length > 0 && (await itemsNaming(db, [text], namesOf(entityId, named))).length > 0) return true;
    }
    return false;
  } catch (error) {
    emptyIfMissing(error as NodeJS.ErrnoException);
    return false;
  } finally {
    bytes.destroy();
  }
}

/** Steps end, and remove what they wrote, at any time. */
function emptyIfMissing(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return [];
  throw error;
}

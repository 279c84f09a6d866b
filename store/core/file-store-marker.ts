/** Identifies the file store of a database by a marker, compared at the start and when a file is missing. */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Row } from './camel-row.ts';
import { FileStoreAway } from '../../domain/core/internal-error.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { Database, Tx } from './database.ts';
import { asBytes, type Files, isMissingFile } from './files.ts';

const MARKER = 'store/id';
/** Advisory lock of this database; the number is arbitrary. */
const MARKER_LOCK = 5_717_023_446;

/**
 * Returns the file store, which throws FileStoreAway while it lacks its marker. Refuses a store other than the one the
 * database knows. The first process draws the id; a database without one, such as an older backup, takes the store that
 * it finds.
 */
export async function checkFileStore(db: Database, files: Files): Promise<Files> {
  const session = await db.connect();
  try {
    await session.query('SET transaction_timeout = 0');
    await session.query('SELECT pg_advisory_lock($1)', [MARKER_LOCK]);
    return markedFiles(files, await checkUnderLock(session, files));
  } finally {
    session.release(true); // ends the session, and its lock with it
  }
}

async function checkUnderLock(session: Tx, files: Files): Promise<string> {
  const {
    rows: [known],
  } = await session.query<Row<'file_store', 'id'>>('SELECT id FROM file_store');
  const found = await readMarker(files);
  if (known === undefined) {
    const id = found ?? randomUUID();
    // The store first: after a kill in between, the next process takes it.
    if (found === null) {
      await files.create();
      await files.put(MARKER, asBytes(id));
    }
    await session.query('INSERT INTO file_store (id) VALUES ($1)', [id]);
    return id;
  }
  if (found !== known.id) {
    const what = found === null ? 'is empty or lacks its marker' : 'belongs to another database';
    refuse(
      500,
      'another_file_store',
      `MILLRACE_FILES: this file store ${what} (${MARKER}), and this database has another one. Set ` +
        'MILLRACE_FILES to the store that all processes of this database share; docs/deploying.md says how to restore or replace it.',
    );
  }
  return found;
}

async function readMarker(files: Files): Promise<string | null> {
  return (await files.readAll(MARKER))?.toString().trim() ?? null;
}

/** Compares the marker around changes, lists and missing files: an unmounted volume would report all as deleted. */
function markedFiles(files: Files, id: string): Files {
  const check = async () => {
    const found = await readMarker(files);
    if (found === null) throw new FileStoreAway(`the file store lacks its marker (${MARKER})`);
    if (found !== id) throw new FileStoreAway(`another file store is in place of this database's (${MARKER})`);
  };
  const checked = async <T>(work: () => Promise<T>): Promise<T> => {
    await check();
    const done = await work();
    await check();
    return done;
  };
  const found = async <T>(look: () => Promise<T | null>): Promise<T | null> => {
    const answer = await look();
    if (answer === null) await check();
    return answer;
  };
  async function* read(...part: Parameters<Files['read']>): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of files.read(...part)) yield piece as Uint8Array;
    } catch (error) {
      if (isMissingFile(error)) await check();
      throw error;
    }
  }
  return {
    put: (key, bytes) => checked(() => files.put(key, bytes)),
    read: (...part) => Readable.from(read(...part), { objectMode: false }),
    readAll: (key) => found(() => files.readAll(key)),
    size: (key) => found(() => files.size(key)),
    delete: (key) => checked(() => files.delete(key)),
    async *list(prefix) {
      await check();
      yield* files.list(prefix);
      await check();
    },
    deleteUnfinished: (now) => checked(() => files.deleteUnfinished(now)),
    create: () => files.create(),
    check,
  };
}

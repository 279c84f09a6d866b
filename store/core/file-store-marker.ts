import { randomUUID } from 'node:crypto';
import { refuse } from '../../domain/core/refusal.ts';
import type { Database, Tx } from './database.ts';
import { asBytes, type Files } from './files.ts';

/** Holds the id of the file store; the database that belongs to it has the same. */
const MARKER = 'store/id';
/** Any number that no other program takes as an advisory lock of this database. */
const MARKER_LOCK = 5_717_023_446;

/**
 * Compares the file store with the one that the database knows, and refuses another one. The first process of both draws the id. A
 * database that knows none, such as an older backup, takes the store that is there.
 */
export async function checkFileStore(db: Database, files: Files): Promise<void> {
  const session = await db.connect();
  try {
    await session.query('SET transaction_timeout = 0');
    await session.query('SELECT pg_advisory_lock($1)', [MARKER_LOCK]);
    await checkUnderLock(session, files);
  } finally {
    session.release(true);          // ends the session, and its lock with it
  }
}

async function checkUnderLock(session: Tx, files: Files): Promise<void> {
  const { rows: [known] } = await session.query<{ id: string }>('SELECT id FROM file_store');
  const found = (await files.readAll(MARKER))?.toString().trim() ?? null;
  if (known === undefined) {
    const id = found ?? randomUUID();
    // The store first: a process that is killed in between leaves a store that the next one takes.
    if (found === null) await files.put(MARKER, asBytes(id));
    await session.query('INSERT INTO file_store (id) VALUES ($1)', [id]);
  } else if (found !== known.id) {
    const what = found === null ? 'is empty or lacks its marker' : 'belongs to another database';
    refuse(500, 'another_file_store', `MILLRACE_FILES: this file store ${what} (${MARKER}), and this database has another one. Set `
      + 'MILLRACE_FILES to the store that all processes of this database share; docs/deploying.md says how to restore or replace it.');
  }
}

import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isAway } from '../../../domain/core/internal-error.ts';
import { storedBytes } from '../../../domain/json/json-size.ts';
import { holdSession, isTimedOut, openDatabase, write } from '../../../store/core/database.ts';
import { testStore } from '../../harness/core/database.ts';

test('a database is closed once its sessions have ended, used or idle, so that its server may end next', async () => {
  const { url } = await testStore();
  const db = openDatabase({ url, max: 12 });
  const sessions = await Promise.all(Array.from({ length: 12 }, () => db.connect()));
  const ended = new Set<unknown>();
  for (const session of sessions) session.once('end', () => ended.add(session));
  for (const [n, session] of sessions.entries()) session.release(n % 2 === 0);
  await db.end();
  expect(ended.size).toBe(12);
});

test.each(['while it is held', 'as it is released', 'as it is set up'])(
  'a held session that the server ends %s ends no process, and is lost only to who holds it',
  async (when) => {
    const { db, url } = await testStore();
    let losses = 0;
    const held = holdSession(
      db,
      (session) => session.query(when === 'as it is set up' ? 'SELECT pg_terminate_backend(pg_backend_pid())' : ''),
      () => (losses += 1),
    );
    if (when === 'as it is set up') {
      await expect(held).rejects.toThrow('terminating connection');
    } else {
      const { session, release } = await held;
      const { rows } = await session.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      const ended = new Promise((resolve) => session.once('end', resolve));
      // Nothing else runs here meanwhile, so the server's last word waits in the socket.
      const end = `import pg from 'pg'; const db = new pg.Client(process.argv[1]); await db.connect();
        await db.query('SELECT pg_terminate_backend($1, 60000)', [process.argv[2]]); await db.end();`;
      execFileSync(process.execPath, ['--input-type=module', '-e', end, url, String(rows[0]!.pid)]);
      if (when === 'as it is released') release();
      await ended;
      release();
    }
    expect(losses).toBe(when === 'while it is held' ? 1 : 0);
    expect((await db.query('SELECT')).rowCount).toBe(1);
  },
);

test('a transaction that takes too long, and a lock that is not given, are no database that is away', async () => {
  const { db } = await testStore();
  const holder = await db.connect();
  await holder.query('BEGIN; LOCK entities');
  const failure = (work: string, settings = '') =>
    write(db, (tx) => tx.query(work), { settings }).then(
      () => null,
      (error: unknown) => error,
    );
  const slow = [
    await failure('SELECT pg_sleep(600)', `SET LOCAL transaction_timeout = 0; SET LOCAL transaction_timeout = '50ms'`),
    await failure('SELECT FROM entities', `SET LOCAL lock_timeout = '50ms'`),
  ];
  holder.release(true);
  const others = [
    new Error('anything'),
    Object.assign(new Error('a file'), { code: 'ENOENT' }),
    await failure('SELEC'),
  ];
  expect([...slow, ...others].map((error) => [isTimedOut(error), isAway(error)])).toEqual([
    ...slow.map(() => [true, false]),
    ...others.map(() => [false, false]),
  ]);
});

test('a document has as many bytes as Postgres gives back, with all digits of its numbers', async () => {
  const { db } = await testStore();
  const text = fc.string({ unit: 'binary' }).filter((given) => given.isWellFormed() && !given.includes('\0'));
  const number = fc.double({ noNaN: true, noDefaultInfinity: true });
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      text,
      number,
      fc.boolean(),
      fc.constant(null),
      fc.array(tie('value')),
      fc.dictionary(text, tie('value')),
    ),
  }));
  const documents = [
    [1e308, -1e308, 1e21, 1.5e-7, -5e-324, -0, 123456789.5],
    [],
    {},
    '\u001f"\\\n',
    ...fc.sample(value, 300),
  ];
  const { rows } = await db.query<{ bytes: number }>(
    'SELECT octet_length(each::jsonb::text) AS bytes FROM unnest($1::text[]) WITH ORDINALITY AS given (each, nth) ORDER BY nth',
    [documents.map((document) => JSON.stringify(document))],
  );
  expect(documents.map((document) => storedBytes(document, Infinity))).toEqual(rows.map(({ bytes }) => bytes));
});

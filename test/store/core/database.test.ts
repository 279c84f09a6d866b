import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isAway } from '../../../domain/core/internal-error.ts';
import { storedBytes } from '../../../domain/json/json-size.ts';
import { isTimedOut, openDatabase, write } from '../../../store/core/database.ts';
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

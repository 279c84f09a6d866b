import { expect, test } from 'vitest';
import { openDatabase } from '../../../store/core/database.ts';
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

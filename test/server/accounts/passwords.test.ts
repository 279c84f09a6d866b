import { expect, test } from 'vitest';
import { hashPassword, verifyPassword } from '../../../server/accounts/passwords.ts';

test('a password is known again by its argon2id hash, and only it', async () => {
  const hash = await hashPassword('secret');
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(await verifyPassword(hash, 'secret')).toBe(true);
  expect(await verifyPassword(hash, 'Secret')).toBe(false);
  expect(await verifyPassword(null, 'secret')).toBe(false);
});

test('an account that does not exist costs what one does', async () => {
  const hash = await hashPassword('secret');
  const time = async (passwordHash: string | null) => {
    const times: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const start = performance.now();
      await verifyPassword(passwordHash, 'wrong');
      times.push(performance.now() - start);
    }
    return Math.min(...times);
  };
  const ratio = (await time(null)) / (await time(hash));
  expect(ratio).toBeGreaterThan(0.25);
  expect(ratio).toBeLessThan(4);
});

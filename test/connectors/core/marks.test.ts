import { expect, test } from 'vitest';
import { z } from 'zod';
import { connectors } from '../../../connectors/catalog.ts';
import { harmless, harmlessMembers, secret, secretMembers } from '../../../connectors/core/contract.ts';

const settings = z.object({
  host: z.string(),
  password: secret(z.string()),
  token: secret(z.string()).optional(),
  keys: secret(z.record(z.string(), z.string())).default({}).describe('by name'),
  format: harmless(z.string()).default('csv'),
});

test('marks of settings are seen through what makes a member optional', () => {
  expect(secretMembers(settings)).toEqual(['password', 'token', 'keys']);
  expect(harmlessMembers(settings)).toEqual(['format']);
});

test('no member of any connector is both secret and harmless', () => {
  const both = connectors.flatMap((each) => {
    const secrets = secretMembers(each.settings);
    return harmlessMembers(each.settings).filter((member) => secrets.includes(member));
  });
  expect(both).toEqual([]);
});

test('connectors have names of their own', () => {
  const names = connectors.map(({ name }) => name);
  expect(names).toEqual([...new Set(names)]);
  for (const name of names) expect(name).toMatch(/^[a-z\d-]+$/);
});

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withLocations } from '../../../server/gdpr/locations-table.ts';
import { personalData } from '../../../store/gdpr/personal-data-registry.ts';

test('docs/privacy.md has every location of the registry: npm run docs writes them', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../docs/privacy.md'), 'utf8');
  expect(withLocations(page)).toBe(page);
  for (const { name } of personalData) expect(page).toMatch(new RegExp(`^\\| (?:files )?\`${name}\` \\| `, 'm'));
});

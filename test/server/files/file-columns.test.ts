import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { withFileColumns } from '../../../server/files/file-columns.ts';

test('docs/files.md has the columns that files have: npm run docs writes them', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../docs/files.md'), 'utf8');
  expect(withFileColumns(page)).toBe(page);
  expect(page).toContain('| `export_occurrences` | `id`, `date` | – |');
});

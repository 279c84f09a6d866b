import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { RIGHTS } from '../../../domain/accounts/rights.ts';
import { rightsPage } from '../../../server/accounts/rights-page.ts';
import { routes } from '../../../server/routes.ts';

test('docs/rights.md is what the routes say: npm run docs writes it', async () => {
  expect(await readFile(join(import.meta.dirname, '../../../docs/rights.md'), 'utf8')).toBe(rightsPage(routes));
});

test('the page of rights names every right and every route', () => {
  const page = rightsPage(routes);
  for (const right of RIGHTS) expect(page).toContain(`\`${right}\``);
  for (const { method, path } of routes) expect(page).toContain(`\`${method} ${path.replaceAll(/:(\w+)/g, '<$1>')}\``);
});

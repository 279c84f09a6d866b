import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { linkTargets } from '../../checks/links.ts';
import { PICTURES } from '../harness/console/pictures.ts';

const DOCS = join(import.meta.dirname, '../../docs');
const FOLDER = join(DOCS, 'pictures');
const MAX_BYTES = 120_000;

test('the pictures that pages of the docs show are those that `npm run docs:pictures` takes, and small', async () => {
  const pages = ['../README.md', ...(await readdir(DOCS)).filter((name) => name.endsWith('.md'))];
  const texts = await Promise.all(pages.map((page) => readFile(join(DOCS, page), 'utf8')));
  const targets = texts.flatMap((text) => linkTargets(text)).map(({ target }) => target);
  const shown = targets.filter((target) => target.endsWith('.png')).map((target) => target.split('/').at(-1)!);
  const taken = PICTURES.map(({ name }) => `${name}.png`).toSorted();
  expect([...new Set(shown)].toSorted()).toEqual(taken);
  expect((await readdir(FOLDER)).toSorted()).toEqual(taken);
  const sizes = await Promise.all(taken.map(async (name) => ({ name, size: (await stat(join(FOLDER, name))).size })));
  expect(sizes.filter(({ size }) => size > MAX_BYTES)).toEqual([]);
});

import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { CHECKS } from '../../checks/checks.ts';
import { copyProject, git, projectFiles } from '../../checks/project-files.ts';

/** Breaks a rule of every check that reads code. */
const BROKEN_CODE = `import pg from 'pg';
import { b } from './b.ts';
var a: number = 'text';
debugger;
const place = '/home/ann/';
const blanks = /\\s+$/;
${'// too long '.repeat(20)}
`;

/** As a service leaves it in the folder that it ran in. */
const IGNORED = {
  '.millrace-demo/workflows.js': BROKEN_CODE,
  '.millrace-demo/store/a.ts': BROKEN_CODE,
  '.millrace-demo/README.md': '[a](a.md)',
  'service-data/domain/a.ts': BROKEN_CODE,
  'docs/draft/page.md': '[a](a.md)',
};
const UNREADABLE = 'service-data/postgres';

let folder: string;

const put = async (path: string, content: string) => {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), content);
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-checked-'));
  for (const config of ['tsconfig.json', '.oxlintrc.json']) await cp(config, join(folder, config));
  await git(folder, 'init', '--quiet');
  await put('package.json', `${JSON.stringify({ name: 'checked', private: true, type: 'module' }, null, 2)}\n`);
  await put('.gitignore', '/.millrace-demo/\n/service-data/\n/docs/draft/\nnode_modules\n');
  await put('runtime/start.ts', `import { name } from '../domain/core/name.ts';\n\nprocess.title = name;\n`);
  await put('domain/deleted.ts', BROKEN_CODE);
  await put('docs/page.md', '[the start](../runtime/start.ts)\n');
  await git(folder, 'add', '.');
  await rm(join(folder, 'domain/deleted.ts'));
  await put('domain/core/name.ts', `export const name = 'new, and not yet added';\n`);
  for (const [path, content] of Object.entries(IGNORED)) await put(path, content);
  await put(`${UNREADABLE}/base.ts`, BROKEN_CODE);
  await chmod(join(folder, UNREADABLE), 0);
  await symlink('nowhere', join(folder, 'runtime/dangling.ts'));
  await symlink(resolve('node_modules'), join(folder, 'node_modules'), 'junction');
});

afterAll(async () => {
  await chmod(join(folder, UNREADABLE), 0o700);
  await rm(folder, { recursive: true });
});

const copied = async () => {
  const copy = await copyProject(folder);
  onTestFinished(copy.remove);
  return copy.path;
};

test('what is checked is what git has, and what is new and not ignored', async () => {
  expect(await projectFiles(await copied())).toEqual([
    '.gitignore',
    '.oxlintrc.json',
    'docs/page.md',
    'domain/core/name.ts',
    'package.json',
    'runtime/start.ts',
    'tsconfig.json',
  ]);
});

describe('a service that ran in the folder breaks no rule of', () => {
  test.each(CHECKS)('$name', async (check) => {
    const { findings } = await check.run(await copied());
    expect(findings).toEqual([]);
  });
});

test('a file that is not ignored is checked before it is added', async () => {
  await put('domain/broken.ts', BROKEN_CODE);
  onTestFinished(() => rm(join(folder, 'domain/broken.ts')));
  const root = await copied();
  for (const check of CHECKS.filter(({ name }) => name !== 'links')) {
    const { findings } = await check.run(root);
    expect([check.name, findings.map(({ file }) => file)]).toEqual([
      check.name,
      expect.arrayContaining(['domain/broken.ts']),
    ]);
  }
});

test('a page may not lead to what git ignores', async () => {
  await put('docs/broken.md', '[a draft](draft/page.md)');
  onTestFinished(() => rm(join(folder, 'docs/broken.md')));
  const { findings } = await CHECKS.find(({ name }) => name === 'links')!.run(await copied());
  expect(findings).toEqual([{ rule: 'dead-link', file: 'docs/broken.md', line: 1, message: 'draft/page.md' }]);
});

test('a folder that git does not have, or ignores, is no project without findings', async () => {
  const elsewhere = await mkdtemp(join(tmpdir(), 'millrace-unversioned-'));
  onTestFinished(() => rm(elsewhere, { recursive: true }));
  await expect(copyProject(elsewhere)).rejects.toThrow('Command failed: git');
  await expect(copyProject(join(folder, 'service-data'))).rejects.toThrow('git lists no file');
});

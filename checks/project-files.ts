/** Copies the project's files for the checks, without those that git ignores. */
import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, mkdtemp, readdir, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { promisify } from 'node:util';

const FIXTURES = join('checks', 'fixtures');

export type ProjectCopy = { path: string; remove(): Promise<void> };

/**
 * Copies the files that git has or would add, with a link to the installed packages, for the checks: each tool ignores
 * other files. Throws if git lists no file.
 */
export async function copyProject(folder: string): Promise<ProjectCopy> {
  const files = await listedByGit(folder);
  // If the temporary folder is a link, tools print paths outside it.
  const path = await realpath(await mkdtemp(join(tmpdir(), 'millrace-checks-')));
  const copy = { path, remove: () => rm(path, { recursive: true, force: true }) };
  try {
    for (const parent of new Set(files.map(dirname))) await mkdir(join(path, parent), { recursive: true });
    await Promise.all(files.map((file) => copyFile(join(folder, file), join(path, file), constants.COPYFILE_FICLONE)));
    await symlink(resolve(folder, 'node_modules'), join(path, 'node_modules'), 'junction');
    return copy;
  } catch (error) {
    await copy.remove();
    throw error;
  }
}

/** The files under `root` in such a copy, as paths relative to it, without those that are broken on purpose. */
export async function projectFiles(root: string): Promise<string[]> {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => !file.startsWith(FIXTURES))
    .toSorted();
}

/**
 * Tracked files and new ones that are not ignored; not those that are deleted, and no links, since git has only where
 * they lead.
 */
async function listedByGit(folder: string): Promise<string[]> {
  const listed = await git(folder, 'ls-files', '-z', '--cached', '--others', '--exclude-standard');
  const paths = [...new Set(listed.split('\0'))].filter((path) => path !== '');
  const areFiles = await Promise.all(
    paths.map((path) => lstat(join(folder, path)).then((stats) => stats.isFile(), isGone)),
  );
  const files = paths.filter((_path, index) => areFiles[index]);
  if (files.length === 0) throw new Error(`git lists no file in ${folder}: is the folder, or one around it, ignored?`);
  return files;
}

/**
 * Returns what git prints in `folder`. The folder may belong to another user, as in a container; and the variables that
 * git gives to a hook would lead to the hook's repository instead.
 */
export async function git(folder: string, ...args: string[]): Promise<string> {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));
  const { stdout } = await promisify(execFile)('git', ['-c', 'safe.directory=*', ...args], {
    cwd: folder,
    env,
    maxBuffer: 2 ** 26,
  });
  return stdout;
}

function isGone(error: NodeJS.ErrnoException): false {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false;
  throw error;
}

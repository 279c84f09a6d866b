/** Scripts can do all that people do in the console: each of its operations has a command. */
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CALLED_OPERATIONS } from '../../../api/core/called-operations.ts';
import { buildProgram, leavesOf } from '../../../cli/program.ts';

const ROOT = join(import.meta.dirname, '../../..');

/** Operations that commands do without: the command in the place of each, or why there is none. */
const ELSEWHERE: Record<string, { command: string } | { because: string }> = {
  openSession: { because: 'cookies are for browsers: `millrace login` prints a token' },
  switchSession: { because: 'cookies are for browsers: a token acts in one entity' },
  viewSession: { because: 'cookies are for browsers' },
  endSession: { because: 'cookies are for browsers: `millrace tokens revoke` ends a token' },
  importWithToken: { command: 'import' },
  downloadSorTemplate: { command: 'template' },
  viewSync: { command: 'syncs view' },
  viewSyncRun: { command: 'syncs status' },
  listSigningKeys: { command: 'verify' },
  viewSystem: { command: 'health' },
  downloadFile: { because: 'the link of a file needs no token: any program fetches it' },
  viewPicture: { because: 'pictures are for eyes' },
  exportCampaignsAs: {
    because: 'the link that answers with a file is for browsers; `campaigns list --json` has the same',
  },
  ...Object.fromEntries(
    ['Devices', 'Events', 'Locations', 'Sessions'].map((list) => [
      `export${list}As`,
      { command: `usage ${list.toLowerCase()}` },
    ]),
  ),
};

const operations = CALLED_OPERATIONS.map(({ id }) => id);

/** Returns the operations that the files of a folder name, as a member or as a text. */
async function operationsOf(folder: string): Promise<Set<string>> {
  const named = new Set<string>();
  for await (const file of glob(`${folder}/**/*.{ts,tsx}`, { cwd: ROOT }))
    for (const [, name] of (await readFile(join(ROOT, file), 'utf8')).matchAll(/['".](\w+)\b/g)) named.add(name!);
  return new Set(operations.filter((name) => named.has(name)));
}

describe('the commands', () => {
  it('have one for each operation of the console, but for those that stand elsewhere', async () => {
    const [web, cli] = await Promise.all(['web', 'cli'].map(operationsOf));
    expect(web!.size).toBeGreaterThan(80);
    const missing = [...web!].filter((name) => !cli!.has(name)).toSorted();
    expect(missing).toEqual(Object.keys(ELSEWHERE).toSorted());
  });

  it('are those that the pages show', async () => {
    const leaves = leavesOf(await buildProgram(async () => {}, { version: '0' })).map((command) => {
      const path: string[] = [];
      for (let at = command; at.parent; at = at.parent) path.unshift(at.name());
      return path.join(' ');
    });
    const named = Object.values(ELSEWHERE).flatMap((one) => ('command' in one ? [one.command] : []));
    expect(named.filter((command) => !leaves.includes(command))).toEqual([]);
    const shown: string[] = [];
    for await (const file of glob('web/**/*.tsx', { cwd: ROOT }))
      for (const [, command] of (await readFile(join(ROOT, file), 'utf8')).matchAll(/['"`]millrace ([a-z][^'"`]*)/g))
        shown.push(command!);
    expect(shown.length).toBeGreaterThan(30);
    const unknown = shown.filter(
      (command) => !leaves.some((leaf) => command === leaf || command.startsWith(`${leaf} `)),
    );
    expect(unknown).toEqual([]);
  });
});

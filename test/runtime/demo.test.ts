import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { openDataFolder } from '../../runtime/embedded/data-folder.ts';
import { onFileEnd } from '../harness/clean-up.ts';
import { waitFor } from '../harness/wait.ts';

const DEMO = fileURLToPath(new URL('../../runtime/demo.ts', import.meta.url));
const folder = { path: '' };

beforeAll(async () => {
  folder.path = await mkdtemp(join(tmpdir(), 'millrace-demo-'));
  await openDataFolder(folder.path);
  onFileEnd(() => rm(folder.path, { recursive: true, force: true }));
});

/** The real `npm run demo`, to its end by Ctrl-C: all that it said. */
async function demo(): Promise<string> {
  const child = spawn(process.execPath, [DEMO], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, PORT: '18187', MILLRACE_DATA_DIR: folder.path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onFileEnd(async () => { child.kill('SIGKILL'); });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => { said += chunk.toString(); });
  const ended = once(child, 'exit');
  await waitFor('a demo that has shown all', () => Promise.resolve(said.includes('Up until Ctrl-C.') || child.exitCode !== null), 120_000);
  child.kill('SIGINT');
  expect([(await ended)[0], said]).toEqual([0, expect.stringContaining('Up until Ctrl-C.')]);
  return said;
}

/** What is said of each run, without its id. */
const runsOf = (said: string) => [...said.matchAll(/^((?:Dry run|Run) )run_\S+ (.*)$/gm)].map(([, kind, outcome]) => `${kind}${outcome}`);

describe('npm run demo', () => {
  it('shows each kind of flow, a sync of which the second run writes nothing among them, and again in the same folder', async () => {
    for (const said of [await demo(), await demo()]) {
      expect(said).toMatch(/^Import imp_\S+ finished: 2112 rows read = 2100 ok \+ 1 ignored \+ 11 failed$/m);
      expect(said).toMatch(/^Feed req_\S+ finished: 4 values = 3 ok \+ 0 ignored \+ 1 failed$/m);
      expect(runsOf(said)).toEqual([
        'Dry run finished: 500 records read = 496 written + 0 unchanged + 0 ignored + 4 failed',
        'Run finished: 500 records read = 496 written + 0 unchanged + 0 ignored + 4 failed',
        'Run finished: 500 records read = 0 written + 496 unchanged + 0 ignored + 4 failed',
        'Run finished: 500 records read = 2 written + 494 unchanged + 0 ignored + 4 failed',
      ]);
      expect(said).toContain('shopper-1@example.com  plan "silver", orders 2037.5, newsletter false, born "1950-02-11", interests [');
      expect(said).toMatch(/^480 +INVALID_VALUE +born +"31\/02\/1990" is not a date/m);
      expect(said).toMatch(/^Read back, shopper-3@example\.com: .*"plan":"platinum"/m);
      expect(said).not.toContain('nobody else is to see this');
    }
  }, 300_000);
});

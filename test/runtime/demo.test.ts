import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { read, utils } from 'xlsx';
import { openDataFolder } from '../../runtime/embedded/data-folder.ts';
import { onFileEnd } from '../harness/core/clean-up.ts';
import { programEnv } from '../harness/core/program-env.ts';
import { hasS3, needS3 } from '../harness/core/s3.ts';
import { waitFor } from '../harness/core/wait.ts';

const DEMO = fileURLToPath(new URL('../../runtime/demo.ts', import.meta.url));
const PORT = '18187';
const LAST_WORDS = 'Up until Ctrl-C.';
const folder = { path: '' };

beforeAll(async () => {
  folder.path = await mkdtemp(join(tmpdir(), 'millrace-demo-'));
  await openDataFolder(folder.path);
  onFileEnd(() => rm(folder.path, { recursive: true, force: true }));
});

type Demo = { child: ChildProcess; said(): string; ended: Promise<number | null> };

function startDemo(): Demo {
  const child = spawn(process.execPath, [DEMO], {
    env: { ...programEnv(), PORT, MILLRACE_DATA_DIR: folder.path },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  onFileEnd(async () => {
    child.kill('SIGKILL');
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  return { child, said: () => said, ended: once(child, 'exit').then(([code]) => code as number | null) };
}

const hasSaid = ({ child, said }: Demo, text: string) =>
  waitFor(`a demo that says "${text}"`, () => Promise.resolve(said().includes(text) || child.exitCode !== null));

/** The real `npm run demo`, to its end by Ctrl-C: all that it said. */
async function demo(): Promise<string> {
  const running = startDemo();
  await hasSaid(running, LAST_WORDS);
  running.child.kill('SIGINT');
  expect([await running.ended, running.said()]).toEqual([0, expect.stringContaining(LAST_WORDS)]);
  return running.said();
}

/** What is said of each run, without its id. */
const runsOf = (said: string) =>
  [...said.matchAll(/^((?:Dry run|Run) )run_\S+ (.*)$/gm)].map(([, kind, outcome]) => `${kind}${outcome}`);

/** An export into a bucket that is decrypted and verified, and adds up. */
function expectExport(said: string): void {
  expect(said).toMatch(/^Batch: 325 calls = 320 accepted \+ 1 duplicates \+ 4 refused$/m);
  const [, rows] = /^Export run_\S+ finished: (\d+) rows in 7 files$/m.exec(said) ?? [];
  expect(rows).toBeDefined();
  for (const [type, count] of [
    ['sessions', 40],
    ['logs', 320],
    ['locations', 320],
    ['devices', 20],
    ['crashes', 1],
  ]) {
    expect(said).toMatch(new RegExp(`^${type} +${type}-0001\\.csv\\.gz\\.enc +${count} +\\d+$`, 'm'));
  }
  expect(said).toMatch(/^Decrypted, logs-0001\.csv\.gz\.enc begins:\n {2}event_id,log_type,name,/m);
  expect(said).toContain('All is there: 1 window, 7 files (each hashed, signatures verified).');
  expect(said).toContain(
    `Reconciliation: exported, ${rows} rows expected = ${rows} written, 7 of 7 files ok in the bucket, its manifest ok`,
  );
}

/** Somebody who gets what is known of them, and whose deletion anybody can verify. */
function expectDeletion(said: string): void {
  expect(said).toMatch(
    /^leaver-of-\S+@example\.com is known by 3 values = 2 ok \+ 0 ignored \+ 1 failed, and asks for it$/m,
  );
  expect(said).toMatch(/^leaver-of-\S+@example\.com: \S+gdpr\/gdp_\S+\.zip$/m);
  expect(said).toMatch(/^receipt rct_\S+: valid, signed by \S+$/m);
  expect(said).toMatch(/a second look found 0 survivors$/m);
  expect(said).toMatch(/^The same values come in again: 3 values = 0 ok \+ 0 ignored \+ 3 failed$/m);
  expect(said.match(/^\d +INVALID_CUSTOMER_ID +erased$/gm)).toHaveLength(3);
}

/** How many of the app's people order, and all that it sent as a workbook. */
async function expectAnalytics(said: string): Promise<void> {
  expect(said).toMatch(/^Product Viewed +20 +0 s\nProduct Added +20 +60 s\nOrder Completed +14 +180 s$/m);
  expect(said).toMatch(/^Segment seg_\w+ \("Did not order"\): 6 people dropped out at the last step$/m);
  const [, path] = /^All events of the app, for a spreadsheet: (\S+)$/m.exec(said)!;
  const book = read(await readFile(path!));
  expect(utils.sheet_to_json(book.Sheets[book.SheetNames[0]!]!)).toHaveLength(320);
}

/** What became of each message, and why one person got none. */
function expectSends(said: string): void {
  expect(said).toMatch(/^Campaign cmp_\w+ \("Parcel on its way"\), request snd_\w+: 6 messages through the sandbox$/m);
  for (const [user, result] of [
    ['shopper-1', 'PUSH_SENT'],
    ['shopper-2', 'MISSING_TEMPLATE_PARAMS +no value for order'],
    ['shopper-3', 'PUSH_SENT'],
    ['shopper-4', 'PUSH_SENT'],
    ['shopper-5', 'OPT_OUT +pushes are turned off'],
    ['stranger', 'NO_DEVICE_FOR_USER'],
  ])
    expect(said).toMatch(new RegExp(`^${user}@example\\.com +${result} *$`, 'm'));
  expect(said).toMatch(/^Why shopper-5@example\.com got none: OPT_OUT, pushes are turned off$/m);
}

/** Those of the segment whose clocks show the time get it; the others an hour later. */
function expectCampaign(said: string): void {
  expect(said).toMatch(
    /^Campaign cmp_\w+ \("Still interested\?"\) to the segment: 6 of 20 devices, 5 of them allow pushes$/m,
  );
  expect(said).toMatch(/^First wave sent; the next goes out at \S+Z, to Europe\/London$/m);
  expect(said).toMatch(/^Results, counted within a minute: npx --no-install millrace campaigns results cmp_\w+$/m);
  expect(said).toMatch(/^Log of the app's campaigns: http\S+$/m);
}

describe('npm run demo', () => {
  it('shows each kind of flow, a sync that runs again and a whole export among them, and so again in the same folder', async () => {
    for (const said of [await demo(), await demo()]) {
      expect(said).toMatch(/^Import imp_\S+ finished: 2112 rows read = 2100 ok \+ 1 ignored \+ 11 failed$/m);
      expect(said).toMatch(/^Feed req_\S+ finished: 4 values = 3 ok \+ 0 ignored \+ 1 failed$/m);
      expect(runsOf(said)).toEqual([
        'Dry run finished: 500 records read = 496 written + 0 unchanged + 0 ignored + 4 failed',
        'Run finished: 500 records read = 496 written + 0 unchanged + 0 ignored + 4 failed',
        'Run finished: 500 records read = 0 written + 496 unchanged + 0 ignored + 4 failed',
        'Run finished: 500 records read = 2 written + 494 unchanged + 0 ignored + 4 failed',
      ]);
      expect(said).toContain(
        'shopper-1@example.com  plan "silver", orders 2037.5, newsletter false, born "1950-02-11", interests [',
      );
      expect(said).toMatch(/^480 +INVALID_VALUE +born +"31\/02\/1990" is not a date/m);
      expect(said).toMatch(/^Read back, shopper-3@example\.com: .*"plan":"platinum"/m);
      expect(said).not.toContain('only the shop may see this');
      if (await hasS3('the export of the demo')) expectExport(said);
      else expect(said).toContain('s3: the demo goes on without it, and shows no export');
      expectDeletion(said);
      await expectAnalytics(said);
      expectSends(said);
      expectCampaign(said);
    }
  });

  it('ends cleanly by Ctrl-C in between, also where npm passes it on once more', async () => {
    await needS3();
    const running = startDemo();
    await hasSaid(running, 'waits until 30 s after');
    running.child.kill('SIGINT');
    await waitFor('a server that is gone', () =>
      fetch(`http://127.0.0.1:${PORT}/health/live`).then(
        () => false,
        () => true,
      ),
    );
    running.child.kill('SIGINT');
    expect([await running.ended, running.said()]).toEqual([0, expect.not.stringContaining(LAST_WORDS)]);
    expect((await readdir(folder.path)).filter((name) => name.startsWith('child.'))).toEqual([]);
  });
});

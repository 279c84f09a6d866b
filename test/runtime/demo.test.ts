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
/** Calls of the demo's app before the mistakes. */
const CALLS = 1_575;
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
  const [, rows] = /^Export run_\S+ finished: (\d+) rows in 7 files$/m.exec(said) ?? [];
  expect(rows).toBeDefined();
  for (const [type, count] of [
    ['sessions', 375],
    ['logs', CALLS],
    ['locations', 375],
    ['crashes', 60],
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

/** Where people stop and why, a segment of them, and all that the app sent as a workbook. */
async function expectAnalytics(said: string): Promise<void> {
  expect(said).toContain(`${CALLS} calls of 300 people, ${CALLS} accepted`);
  for (const step of [
    'Product Viewed +300 +100 %',
    'Product Added +210 +70 % +\\d+ s',
    'Checkout Started +150 +50 % +\\d+ s',
    'Order Completed +75 +25 % +\\d+ s',
  ])
    expect(said).toMatch(new RegExp(`^${step} *$`, 'm'));
  expect(said).toMatch(/^Orders by version: 2\.3\.1 40 %, 2\.4\.0 10 %$/m);
  expect(said).toMatch(/^After "Checkout Started", those who stopped: Application Crashed 60, .* 15, .* 15$/m);
  expect(said).toMatch(/^Segment seg_\w+ \("Stopped at checkout"\): 75 people, found again every hour$/m);
  const [, path] = /^All events of the app, for a spreadsheet: (\S+)$/m.exec(said)!;
  const book = read(await readFile(path!));
  expect(utils.sheet_to_json(book.Sheets[book.SheetNames[0]!]!)).toHaveLength(CALLS);
}

/** What became of each message, and why one person got none. */
function expectSends(said: string): void {
  expect(said).toMatch(/^Campaign cmp_\w+ \("Parcel on its way"\), request snd_\w+: 6 messages through the sandbox$/m);
  for (const [user, result] of [
    ['shopper-1', 'PUSH_SENT'],
    ['shopper-2', 'MISSING_TEMPLATE_PARAMS +no value for order'],
    ['shopper-3', 'PUSH_SENT'],
    ['shopper-21', 'PUSH_SENT'],
    ['shopper-23', 'OPT_OUT +pushes are turned off'],
    ['stranger', 'NO_DEVICE_FOR_USER'],
  ])
    expect(said).toMatch(new RegExp(`^${user}@example\\.com +${result} *$`, 'm'));
  expect(said).toMatch(/^Why shopper-23@example\.com got none: OPT_OUT, pushes are turned off$/m);
}

/** A campaign in two waves, of the first of which each message is accounted for, and the pages to look at. */
function expectCampaign(said: string): void {
  expect(said).toMatch(
    /^Campaign cmp_\w+ \("Your table is still there"\) to the segment: 75 people = 69 get the push \+ 6 get nothing$/m,
  );
  expect(said).toMatch(/^Wave 1: 45 devices in Europe\/Paris, at the launch$/m);
  expect(said).toMatch(/^Wave 2: 30 devices in Europe\/London, at \S+Z$/m);
  expect(said).toMatch(/^Results of cmp_\w+: 38 pushes sent = 22 confirmed \+ 12 taken \+ 2 unknown \+ 2 refused$/m);
  expect(said).toMatch(/^7 devices got none: pushes are turned off 4, no push token 2, .* 1$/m);
  expect(said).toMatch(/^A wrong build sends 8 calls = 3 accepted \+ 1 duplicates \+ 4 refused$/m);
  expect(said.match(/^ {2}\S.*http:\/\/\S+\/console\/\S*$/gm)).toHaveLength(7);
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

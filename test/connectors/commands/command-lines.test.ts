import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { describe, expect, it } from 'vitest';
import type { Line } from '../../../connectors/commands/command-message.ts';
import { type CommandCall, commandLines, LINE_BYTES } from '../../../connectors/commands/command-lines.ts';
import { GRACE_MS } from '../../../connectors/commands/command-lines.ts';
import { type CommandSettings, findCommand } from '../../../connectors/commands/command-settings.ts';
import type { Command } from '../../../connectors/commands/commands-file.ts';
import type { ConnectorContext } from '../../../connectors/core/contract.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { HANGS_MS, waitFor } from '../../harness/core/wait.ts';
import { commandsOf } from '../../harness/syncs/sample-records.ts';
import { testContext } from '../core/contract.ts';

const SECRET = 'zqcommandsecret/+"1';
rememberSecret(SECRET);

type Prepared = { call: CommandCall; context: ConnectorContext; logged: string[] };

/** A shell script as the operator's command `sample`. */
function prepare(
  script: string,
  entry: Partial<Command> = {},
  signal = AbortSignal.timeout(HANGS_MS),
  config: CommandSettings['config'] = {},
): Prepared {
  const logged: string[] = [];
  const commands = commandsOf({ sample: { kind: 'singer', command: ['/bin/sh', '-c', script, 'sample'], ...entry } });
  const context = testContext(signal, logged, commands);
  const call = {
    ...findCommand('singer', { tap: 'sample', config }, context),
    args: [],
    error: 'transfer_broken' as const,
  };
  return { call, context, logged };
}

const lines = ({ call, context }: Prepared): Promise<Line[]> => Array.fromAsync(commandLines(call, context));
const texts = async (prepared: Prepared) => (await lines(prepared)).map(({ text }) => text);

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('what a command finds', () => {
  it("is the operator's environment, and nothing of ours", async () => {
    const prepared = prepare('exec /usr/bin/env', { env: { TAP_REGION: 'eu', LANG: 'de' } });
    const [folder] = await texts(prepare('pwd'));
    const found = Object.fromEntries((await texts(prepared)).map((line) => line.split(/=(.*)/s)));
    const { PWD } = found;
    expect(found).toEqual({
      PWD,
      PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      LANG: 'de',
      TAP_REGION: 'eu',
      HOME: PWD,
      TMPDIR: PWD,
    });
    expect(PWD).toMatch(prepared.context.scratch);
    expect(folder).toContain('/command-');
  });

  it('is files that are its own, gone behind it with all it has left', async () => {
    const prepared = prepare('echo more > more; stat -c %a "$1"; cat "$1"');
    prepared.call.args = [{ name: 'config.json', text: '{"a": 1}' }];
    expect(await texts(prepared)).toEqual(['600', '{"a": 1}']);
    expect(await readdir(prepared.context.scratch)).toEqual([]);
  });

  it('is not the descriptor that its watchdog waits at', async () => {
    expect(await texts(prepare('(true <&3) 2>/dev/null || echo closed'))).toEqual(['closed']);
  });
});

describe('a command that fails', () => {
  const refusal = (prepared: Prepared) =>
    lines(prepared).then(
      () => null,
      (error: unknown) => error,
    );

  it('is refused with what it said last, without the secrets of its config', async () => {
    const script = `
      echo 'as zqcommandsecret/+\\"1 or zqcommandsecret/+"1' >&2; echo 'zqcommandsecret%2F%2B%221 at ab of cab' >&2
      echo '(see there)' >&2; echo '{"of": "a record"}' >&2; exit 3`;
    const prepared = prepare(script, {}, undefined, { login: { password: SECRET }, port: 5432, short: 'ab' });
    expect(await refusal(prepared)).toMatchObject({
      status: 'transfer_broken',
      message: 'sample failed with status 3: *** at *** of cab',
    });
    expect(prepared.logged).toEqual(
      ['as *** or ***', '*** at *** of cab', '(see there)', '…'].map((line) => `sample: ${line}`),
    );
  });

  it('is refused where it says nothing, is killed, or is not there', async () => {
    expect(await refusal(prepare('exit 1'))).toMatchObject({ message: 'sample failed with status 1' });
    expect(await refusal(prepare('kill -9 $$'))).toMatchObject({ message: 'sample was killed' });
    expect(await refusal(prepare('', { command: ['/no/such/tap'] }))).toMatchObject({
      status: 'source_refused',
      message: /MILLRACE_TAPS/,
    });
  });

  it('has given its lines, but for one that it did not end', async () => {
    const { call, context } = prepare('echo one; printf two; exit 1');
    const given: string[] = [];
    const reading = (async () => {
      for await (const { text } of commandLines(call, context)) given.push(text);
    })();
    await expect(reading).rejects.toThrow('status 1');
    expect(given).toEqual(['one']);
    expect(await texts(prepare('echo one; printf two'))).toEqual(['one', 'two']);
  });

  it('floods no log', async () => {
    const prepared = prepare('i=0; while [ $i -lt 1200 ]; do echo line $i >&2; i=$((i+1)); done');
    await lines(prepared);
    expect(prepared.logged).toHaveLength(1_001);
    expect(prepared.logged.at(-1)).toBe('sample: and 200 lines more, left out');
  });
});

/** So long that some hundred lines fill what lies between two processes. */
const PADDING = 'x'.repeat(1_000);

describe('a command that asks for too much', () => {
  it('is given a line of 4 MiB, and of more only the first part', async () => {
    const line = (bytes: number) => `head -c ${bytes} /dev/zero | tr '\\0' x; echo; echo end`;
    const [whole, end] = await lines(prepare(line(LINE_BYTES)));
    expect([whole!.bytes, whole!.isCut, whole!.text.length]).toEqual([LINE_BYTES, false, LINE_BYTES]);
    expect(end!.text).toBe('end');
    for (const bytes of [LINE_BYTES + 1, 20 * LINE_BYTES + 1]) {
      const [cut, after] = await lines(prepare(line(bytes)));
      expect([cut!.bytes, cut!.isCut, cut!.text.length]).toEqual([bytes, true, LINE_BYTES]);
      expect(after!.text).toBe('end');
    }
  });

  it('gets no more memory than the operator gives', async () => {
    const grow = (until: number) => `x=0123456789abcdef; while [ \${#x} -lt ${until} ]; do x=$x$x; done; echo \${#x}`;
    expect(await texts(prepare(grow(8 * 2 ** 20), { memoryMib: 128 }))).toEqual([String(8 * 2 ** 20)]);
    await expect(lines(prepare(grow(2 ** 30), { memoryMib: 128 }))).rejects.toThrow(/^sample (?:failed|was killed)/);
  });

  it('waits until its lines are taken', async () => {
    const { call, context } = prepare(
      `i=0; while [ $i -lt 4000 ]; do i=$((i+1)); echo $i > count; echo $i ${PADDING}; done`,
    );
    const reading = commandLines(call, context);
    expect((await reading.next()).value).toMatchObject({ text: `1 ${PADDING}` });
    const [folder] = await readdir(context.scratch);
    const count = async () => Number(await readFile(`${context.scratch}/${folder}/count`, 'utf8'));
    let last = -1;
    const stands = await waitFor('it stands still', async () => {
      const now = await count();
      const isStill = now === last;
      last = now;
      return isStill && now;
    });
    expect(stands).toBeLessThan(3_000);
    await reading.return(undefined);
    expect(await readdir(context.scratch)).toEqual([]);
  });
});

// What is tried here is mostly waited for.
describe.concurrent('a command ends', () => {
  /** Prints the ids of itself and of a child, and goes on for long. */
  const LONG = 'sleep 1000 & echo $$ $!; wait';

  const start = async (prepared: Prepared) => {
    const reading = commandLines(prepared.call, prepared.context);
    const { value } = (await reading.next()) as { value: Line };
    return { reading, pids: value.text.split(' ').map(Number) };
  };
  const allGone = (pids: number[]) => waitFor('all have ended', async () => !pids.some(isAlive));

  it('when the run does, with all it has started', async () => {
    const canceled = new AbortController();
    const { reading, pids } = await start(prepare(LONG, {}, canceled.signal));
    expect(pids.every(isAlive)).toBe(true);
    canceled.abort(new Error('canceled by a user'));
    await expect(reading.next()).rejects.toThrow('canceled by a user');
    await allGone(pids);
  });

  it('when nobody reads on', async () => {
    const { reading, pids } = await start(prepare(LONG));
    await reading.return(undefined);
    expect(await allGone(pids)).toBe(true);
  });

  it('when its time is up', async () => {
    const prepared = prepare(LONG, { timeoutMinutes: 0.02 });
    const { reading, pids } = await start(prepared);
    await expect(reading.next()).rejects.toThrow(/timeout_minutes/);
    await allGone(pids);
  });

  it('after 10 s, where it will not', async () => {
    const prepared = prepare(`trap '' TERM; echo $$; while :; do sleep 1; done`);
    prepared.call.graceMs = 1_000;
    const { reading, pids } = await start(prepared);
    const began = performance.now();
    await reading.return(undefined);
    expect(performance.now() - began).toBeGreaterThan(900);
    await allGone(pids);
    expect(GRACE_MS).toBe(10_000);
  });

  it('with what it has left behind', async () => {
    const [line] = await texts(prepare('sleep 1000 >/dev/null 2>&1 & echo $!'));
    expect(await allGone([Number(line)])).toBe(true);
  });

  it('when our process is killed', async () => {
    const module = new URL('../../../connectors/commands/command-lines.ts', import.meta.url).href;
    const { context, call } = prepare(LONG);
    call.graceMs = 1_000;
    const program = `
      import { commandLines } from '${module}';
      const call = { ...${JSON.stringify(call)}, mask: (text) => text };
      const context = { scratch: '${context.scratch}', signal: AbortSignal.timeout(${HANGS_MS}), log() {} };
      for await (const { text } of commandLines(call, context)) console.log(text);
    `;
    const ours = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(createInterface(ours.stdout), 'line')) as [string];
    const pids = line.split(' ').map(Number);
    expect(pids.every(isAlive)).toBe(true);
    ours.kill('SIGKILL');
    await allGone(pids);
    await waitFor('its files are gone', async () => (await readdir(context.scratch)).length === 0);
  });
});

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { buildProgram, leavesOf } from '../../../cli/program.ts';
import { runMillrace } from './run-millrace.ts';

const TITLE = '\u001B]0;owned\u0007\u009B31m\r';

let url: string;
let answer: { http: number; body: object };

/** A server that is not to be trusted: its words hold what a terminal obeys. */
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(answer.http, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
  });
});

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => server.close());

const commands = leavesOf(await buildProgram(async () => {}, { version: '1' })).map((leaf) => {
  const names = [leaf.name()];
  for (let group = leaf.parent; group?.parent; group = group.parent) names.unshift(group.name());
  const options = leaf.options.some(({ long }) => long === '--yes') ? ['--yes'] : [];
  return { words: names, args: leaf.registeredArguments.map(() => TITLE), options };
});

const millrace = (args: string[]) =>
  runMillrace(args, { url, token: 'token', input: `${TITLE}\n${TITLE}\n`, env: { NO_COLOR: '1' } });

it('no command prints a control character of a refusal, or of its own arguments', async () => {
  answer = { http: 400, body: { status: 'no_such_thing', error_message: `No ${TITLE} here` } };
  let refused = 0;
  for (const { words, args, options } of commands.filter(
    ({ words: [first] }) => first !== 'completion' && first !== 'complete',
  )) {
    const { out, err } = await millrace([...words, ...args, ...options]);
    expect(`${words.join(' ')}: ${out}${err}`).not.toMatch(/(?![\t\n])\p{Cc}/u);
    if (err.includes('here')) refused += 1;
  }
  expect(refused).toBeGreaterThan(commands.length / 2);
});

it('connections check prints no control character of what a connector found', async () => {
  // The list in which the command looks the connection up, and the outcome of the check.
  const connection = { identifier: 'con_a', name: 'shop' };
  answer = {
    http: 200,
    body: {
      success: true,
      result: {
        items: [connection],
        navigation: { next: null },
        ok: false,
        status: 'source_unavailable',
        message: TITLE,
      },
    },
  };
  const { out, err } = await millrace(['connections', 'check', 'shop']);
  expect(`${out}${err}`).toContain('owned');
  expect(`${out}${err}`).not.toMatch(/(?![\t\n]|\r\n)\p{Cc}/u);
});

it('--json keeps each character, escaped, and prints nothing beside', async () => {
  answer = {
    http: 200,
    body: { success: true, result: [{ name: TITLE, targets: 0, created_at: '2026-11-26T00:00:00Z' }] },
  };
  const { out, err } = await millrace(['labels', 'list', '--json']);
  expect(err).toBe('');
  expect(out).not.toMatch(/(?![\t\n])\p{Cc}/u);
  expect(out).toContain('\\u009b31m');
  expect(JSON.parse(out)).toMatchObject([{ name: TITLE }]);
});

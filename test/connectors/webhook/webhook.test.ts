import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import type { SourceRecord, WriteOutcome, Writing } from '../../../connectors/core/contract.ts';
import { NOTHING_ALLOWED } from '../../../connectors/core/fetch-allow.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import { webhook } from '../../../connectors/webhook/webhook.ts';
import { Refusal } from '../../../domain/core/refusal.ts';
import { type Answer, endless, hangUp, httpSource, inTurn, redirect, status } from '../../harness/core/http-source.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { alertContract } from '../core/alert-contract.ts';
import { testContext } from '../core/contract.ts';
import { destinationContract } from '../core/destination-contract.ts';

type IsFromMillrace = (secret: string, header: string | undefined, body: Buffer, now?: number) => boolean;

/** As the documentation tells receivers to. */
async function documented(): Promise<IsFromMillrace> {
  const docs = await readFile(new URL('../../../docs/connectors.md', import.meta.url), 'utf8');
  const code = /```js\n(.*?isFromMillrace.*?)```/s.exec(docs)![1]!;
  const module = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    isFromMillrace: IsFromMillrace;
  };
  return module.isFromMillrace;
}

const isFromMillrace = await documented();
const server = await httpSource();
const SECRET = 'zqwebhooksecret-0001';

type Body = { batch_id: string; stream: string; removal: boolean; records: SourceRecord[] };
type Received = Body & { key: string; bytes: number; signature: string };

function answerJson(response: ServerResponse, value: unknown): void {
  const body = typeof value === 'string' ? value : JSON.stringify(value);
  response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(body);
}

/** Keeps the requests that it gets, and answers 401 where the signature is not its secret's. */
function receiver(
  path: string,
  answer: (body: Received, response: ServerResponse) => void,
): { url: string; received: Received[] } {
  const received: Received[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const bytes = await buffer(request);
    const signature = String(request.headers['x-millrace-signature']);
    if (!isFromMillrace(SECRET, signature, bytes)) return void response.writeHead(401).end();
    const key = String(request.headers['idempotency-key']);
    const body: Received = { ...(JSON.parse(bytes.toString()) as Body), key, bytes: bytes.length, signature };
    received.push(body);
    answer(body, response);
  };
  return {
    url: server.serve(path, (request, response) => {
      void take(request, response);
    }),
    received,
  };
}

const settingsOf = (url: string, more: Record<string, unknown> = {}) =>
  webhook.settings.parse({ url, secret: SECRET, ...more });

async function write(
  url: string,
  records: SourceRecord[],
  more: Record<string, unknown> = {},
  answered = 0,
): Promise<WriteOutcome[]> {
  const writing: Writing = { stream: 's', key: ['id'], batchId: 'b', records, answered, isRemoval: false };
  const outcomes = webhook.destination!.write(
    settingsOf(url, more),
    writing,
    testContext(AbortSignal.timeout(HANGS_MS)),
  );
  return (await Array.fromAsync(outcomes)).flat();
}

async function refusalOf(work: Promise<unknown>): Promise<{ status: unknown; message: string; extra: unknown }> {
  const error: unknown = await work.then(
    () => 'no refusal',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof Refusal)) throw new Error('expected a refusal', { cause: error });
  return { status: error.status, message: error.message, extra: error.extra };
}

const records = (count: number): SourceRecord[] =>
  Array.from({ length: count }, (_, n) => ({ id: n + 1, name: `Zoë ${n + 1}` }));

alertContract(webhook, SECRET, (url) => ({ url, secret: SECRET }));

describe('a receiver that keeps records by their key', () => {
  destinationContract(webhook, async () => {
    const held = new Map<unknown, SourceRecord>();
    let isBusy = false;
    const { url } = receiver('/kept', ({ removal, records: sent }, response) => {
      if (isBusy) return void response.writeHead(429, { 'retry-after': '17' }).end();
      const outcomes = sent.map((record) => {
        if (record['name'] === 'zqvalue') return { ok: false, message: 'no such name' };
        if (removal) held.delete(record['id']);
        else held.set(record['id'], record);
        return { ok: true };
      });
      answerJson(response, { outcomes });
    });
    return {
      settings: { url, secret: SECRET },
      wrong: { settings: { url, secret: 'zqanothersecret-0002' }, says: /answered 401 Unauthorized: .*secret/ },
      stream: 'people',
      key: ['id'],
      records: records(1_200),
      changed: { id: 1, name: 'Ada' },
      bad: { record: { id: 5_000, name: 'zqvalue' }, says: /^no such name$/, quotesNot: 'zqvalue' },
      held: async () => [...held.values()],
      async throttle() {
        isBusy = true;
        return 17;
      },
      stop: async () => undefined,
    };
  });
});

describe('what a receiver gets', () => {
  it.for([307, 308])('follows %i to the same host, signed', async (code) => {
    const { received } = receiver('/there', (_, response) =>
      answerJson(response, { outcomes: [{ ok: true }, { ok: true }] }),
    );
    const url = server.serve('/moved', redirect('/there', code));
    expect(await write(url, records(2))).toEqual([{ kind: 'ok' }, { kind: 'ok' }]);
    expect(received).toMatchObject([{ key: 'b-1', records: records(2) }]);
    await expect(
      webhook.destination!.check(settingsOf(url), testContext(AbortSignal.timeout(HANGS_MS))),
    ).resolves.toBeUndefined();
  });

  it('is reported as sent only once a connection to it stands', async () => {
    const sent: number[] = [];
    const sending = (count: number) => void sent.push(count);
    const writing: Writing = {
      stream: 's',
      key: ['id'],
      batchId: 'b',
      records: records(3),
      answered: 1,
      isRemoval: false,
      sending,
    };
    const writeTo = (url: string) =>
      Array.fromAsync(webhook.destination!.write(settingsOf(url), writing, testContext(AbortSignal.timeout(60_000))));
    expect(await refusalOf(writeTo('http://127.0.0.1:1/'))).toMatchObject({ status: 'source_unavailable' });
    expect(sent.splice(0)).toEqual([1]);
    expect(await refusalOf(writeTo(server.serve('/away', status(503))))).toMatchObject({
      status: 'source_unavailable',
    });
    expect(sent).toEqual([1, 3]);
  });

  it('is signed requests of bounded size, each with a key that stays', async () => {
    const { url, received } = receiver('/sizes', (_, response) => response.end());
    expect(await write(url, records(5), { batch_records: 2 })).toEqual(
      Array.from({ length: 5 }, () => ({ kind: 'ok' })),
    );
    await write(url, records(5), { batch_records: 2 });
    expect(received.map(({ key }) => key)).toEqual(['b-1', 'b-2', 'b-3', 'b-1', 'b-2', 'b-3']);
    expect(received.slice(0, 3).flatMap((body) => body.records)).toEqual(records(5));
    expect(received[0]).toMatchObject({ batch_id: 'b', stream: 's', removal: false, records: records(2) });
  });

  it('is nothing that was answered before, under the keys of the others; and no key twice where requests are cut elsewhere', async () => {
    const { url, received } = receiver('/answered', (_, response) => response.end());
    expect(await write(url, records(5), { batch_records: 2 }, 2)).toHaveLength(3);
    expect(await write(url, records(5), { batch_records: 3 }, 2)).toHaveLength(3);
    expect(received.map(({ key, records: sent }) => [key, sent.map(({ id }) => id)])).toEqual([
      ['b-2', [3, 4]],
      ['b-3', [5]],
      ['b-1-2', [3]],
      ['b-2', [4, 5]],
    ]);
  });

  it('is at most 1 MiB at a time, to the byte; what is larger fails alone', async () => {
    const { url, received } = receiver('/bytes', (_, response) => response.end());
    const around = JSON.stringify({ batch_id: 'b', stream: 's', removal: false, records: [{ id: 1, x: '' }] }).length;
    const fits = { id: 1, x: 'x'.repeat(1024 * 1024 - around) };
    const outcomes = await write(url, [{ id: 2 }, fits, { id: 3, x: `${fits.x}x` }, { id: 4 }, { id: 5 }]);
    expect(outcomes).toEqual([
      { kind: 'ok' },
      { kind: 'ok' },
      { kind: 'failed', message: 'The record has more than 1 MiB', later: false },
      { kind: 'ok' },
      { kind: 'ok' },
    ]);
    expect(received.map((body) => body.records.map(({ id }) => id))).toEqual([[2], [1], [4, 5]]);
    expect(received[1]!.bytes).toBe(1024 * 1024);
  });

  it('is told from what others send: another body, secret or time', async () => {
    const { url, received } = receiver('/signed', (_, response) => response.end());
    await write(url, [{ id: 1 }]);
    const { signature } = received[0]!;
    const body = Buffer.from('{"batch_id":"b","stream":"s","removal":false,"records":[{"id":1}]}');
    const at = Number(/t=(\d+)/.exec(signature)![1]);
    expect(isFromMillrace(SECRET, signature, body, at + 300)).toBe(true);
    expect(isFromMillrace(SECRET, signature, body, at + 301)).toBe(false);
    expect(isFromMillrace('another', signature, body, at)).toBe(false);
    expect(isFromMillrace(SECRET, signature, Buffer.from('{}'), at)).toBe(false);
    expect(isFromMillrace(SECRET, undefined, body, at)).toBe(false);
  });
});

describe('what an answer does', () => {
  const ok: WriteOutcome = { kind: 'ok' };
  const failed = (message: string, later = false): WriteOutcome => ({ kind: 'failed', message, later });
  const answers = (path: string, value: unknown) =>
    receiver(path, (_, response) => {
      answerJson(response, value);
    }).url;

  it('of 2xx takes all, or says of each what became of it', async () => {
    expect(await write(server.serve('/204', status(204)), records(2))).toEqual([ok, ok]);
    expect(await write(server.serve('/html', status(200)), records(2))).toEqual([ok, ok]);
    expect(await write(answers('/other', { received: 2 }), records(2))).toEqual([ok, ok]);
    const outcomes = [
      { ok: false },
      { ok: false, message: 'x'.repeat(999), later: true },
      { ok: true, message: 'fine' },
    ];
    expect(await write(answers('/each', { outcomes }), records(3))).toEqual([
      failed('The receiver did not take it'),
      failed('x'.repeat(300), true),
      ok,
    ]);
  });

  it('of 4xx fails the records of its request, and of no other', async () => {
    const url = server.serve('/422', inTurn(status(200), status(422), status(200)));
    const message = `127.0.0.1:${server.port} answered 422 Unprocessable Entity`;
    expect(await write(url, records(3), { batch_records: 1 })).toEqual([ok, failed(message), ok]);
  });

  it('of a receiver that takes five requests a second sets the pace: each record comes once, and few requests are refused', async () => {
    let [windowEnd, left, refused] = [0, 0, 0];
    const { url, received } = receiver('/paced', (_, response) => {
      const now = performance.now();
      if (now >= windowEnd) [windowEnd, left] = [now + 1_000, 5];
      left -= 1;
      if (left < 0) refused += 1;
      response.writeHead(left < 0 ? 429 : 200, left < 0 ? { 'retry-after': '1' } : {}).end();
    });
    expect(await write(url, records(25), { batch_records: 1 })).toEqual(Array.from({ length: 25 }, () => ok));
    expect(received.length - refused).toBe(25);
    expect(refused).toBeGreaterThan(0);
    expect(refused).toBeLessThan(5);
  });

  it.for<[string, Answer, Record<string, unknown>]>([
    [
      '429 with a time',
      status(429, { 'retry-after': '30' }),
      { status: 'source_unavailable', extra: { retry_after: 30 } },
    ],
    [
      '503 with a time',
      status(503, { 'retry-after': '5' }),
      { status: 'source_unavailable', extra: { retry_after: 5 } },
    ],
    ['401', status(401), { status: 'source_refused', message: expect.stringContaining('secret') as string }],
    ['410', status(410), { status: 'source_refused' }],
    ['408', status(408), { status: 'source_unavailable' }],
    ['500', status(500), { status: 'source_unavailable' }],
    ['none', hangUp, { status: 'source_unavailable' }],
    [
      'an endless one',
      endless,
      { status: 'source_unavailable', message: expect.stringMatching(/more than 4 MiB|connection/) },
    ],
    ['a redirect to another request', inTurn(redirect('/elsewhere', 302), status(200)), { status: 'source_refused' }],
    [
      'broken JSON',
      (_, response) => {
        answerJson(response, '{"outcomes":');
      },
      { status: 'source_unavailable' },
    ],
    [
      'too few outcomes',
      (_, response) => {
        answerJson(response, { outcomes: [{ ok: true }] });
      },
      { status: 'source_refused' },
    ],
    [
      'too many outcomes',
      (_, response) => {
        answerJson(response, { outcomes: Array(3).fill({ ok: true }) });
      },
      { status: 'source_refused' },
    ],
    [
      'outcomes of another shape',
      (_, response) => {
        answerJson(response, { outcomes: ['ok', 'ok'] });
      },
      { status: 'source_refused' },
    ],
  ])('%s has all sent again later, or is refused', async ([name, answer, expected]) => {
    server.serve('/elsewhere', status(200));
    const url = server.serve(`/later/${encodeURIComponent(name)}`, answer);
    expect(await refusalOf(write(url, records(2)))).toMatchObject(expected);
  });

  it('of 2xx that is HTML, or JSON without outcomes, stands in the log once', async () => {
    const page: Answer = (_, response) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>Sign in</p>');
    const odd: Answer = (_, response) => {
      answerJson(response, { error: 'no' });
    };
    const linesOf = async (name: string, answer: Answer) => {
      const logged: string[] = [];
      const writing: Writing = {
        stream: 's',
        key: ['id'],
        batchId: 'b',
        records: records(3),
        answered: 0,
        isRemoval: false,
      };
      const own = testContext(AbortSignal.timeout(HANGS_MS), logged);
      await Array.fromAsync(
        webhook.destination!.write(settingsOf(server.serve(name, answer), { batch_records: 1 }), writing, own),
      );
      return logged;
    };
    expect(await linesOf('/page', page)).toEqual([expect.stringContaining('a page of HTML')]);
    expect(await linesOf('/odd', odd)).toEqual([expect.stringContaining('JSON that has no outcomes')]);
    expect(await linesOf('/plain', status(200))).toEqual([]);
  });

  it('that comes from an address that nobody may reach is never asked for', async () => {
    const before = server.asked.length;
    const closed = { ...testContext(AbortSignal.timeout(HANGS_MS)), fetch: guardedFetch(NOTHING_ALLOWED) };
    expect(
      await refusalOf(webhook.destination!.check(settingsOf(server.serve('/closed', status(200))), closed)),
    ).toMatchObject({ status: 'address_refused' });
    expect(server.asked.length).toBe(before);
  });
});

it('wrong settings are refused in words', () => {
  const right = { url: 'https://example.com/', secret: SECRET };
  const faults = (more: Record<string, unknown>) =>
    webhook.settings
      .safeParse({ ...right, ...more })
      .error?.issues.map(({ message }) => message)
      .join('; ');
  expect(faults({})).toBeUndefined();
  expect(faults({ url: 'ftp://example.com' })).toMatch(/http:\/\/ or https:\/\//);
  expect(faults({ secret: 'x'.repeat(15) })).toMatch(/at least 16/);
  expect(faults({ batch_records: 5_001 })).toMatch(/at most 5000/);
  expect(faults({ batch_records: 0 })).toMatch(/at least 1/);
});

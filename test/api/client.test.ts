import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { CALLED_OPERATIONS } from '../../api/core/called-operations.ts';
import { type Client, createClient, Refusal } from '../../api/client.ts';
import { calledOperations } from '../../api/core/called-operation.ts';
import * as contract from '../../api/operations.ts';
import { onFileEnd } from '../harness/core/clean-up.ts';
import { personId } from '../harness/core/people.ts';
import { useServer } from '../server/http/use-server.ts';

const ROOT = join(import.meta.dirname, '../..');
const CUSTOMER = personId(1);

const { store, server, world } = useServer();
let url: string;
let client: Client;

beforeAll(async () => {
  url = await server.app.listen({ port: 0, host: '127.0.0.1' });
  client = createClient({ url, token: world.token });
});

/** Answers each request as the next of these does; after them, none. */
async function answering(
  ...answers: RequestListener[]
): Promise<{ elsewhere: Client; methods: string[]; url: string }> {
  const methods: string[] = [];
  const answerer = createServer((request, reply) => {
    methods.push(`${request.method} ${request.headers['idempotency-key'] === undefined ? 'without' : 'with'} key`);
    answers.shift()!(request, reply);
  }).listen(0, '127.0.0.1');
  await once(answerer, 'listening');
  onFileEnd(async () => answerer.close());
  const its = `http://127.0.0.1:${(answerer.address() as AddressInfo).port}`;
  return { elsewhere: createClient({ url: its }), methods, url: its };
}

const busy =
  (status: number): RequestListener =>
  (_, reply) =>
    void reply.writeHead(status, { 'retry-after': '0' }).end('{}');
const fine: RequestListener = (_, reply) => void reply.writeHead(200).end('{"success":true,"result":[]}');

describe('the client', () => {
  test('calls each operation of the contract as that describes it', () => {
    expect(CALLED_OPERATIONS).toEqual(calledOperations(contract));
  });

  test('runs as its page of the docs shows it, with the package linked as npm links a folder', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'millrace-client-'));
    onFileEnd(() => rm(folder, { recursive: true }));
    await mkdir(join(folder, 'node_modules'));
    await symlink(ROOT, join(folder, 'node_modules', 'millrace'));
    const { program } = /<!-- client -->\n```ts\n(?<program>[^`]+)```/.exec(
      await readFile(join(ROOT, 'docs/client.md'), 'utf8'),
    )!.groups!;
    await writeFile(join(folder, 'program.mts'), program!);
    const env = { ...process.env, MILLRACE_URL: url, MILLRACE_TOKEN: world.token };
    const { stdout } = await promisify(execFile)(process.execPath, ['program.mts'], { cwd: folder, env });
    const lines = stdout.trim().split('\n');
    expect(lines.slice(0, 3)).toEqual([
      'create customer_attribute',
      'create customer_attribute',
      'create system_of_record',
    ]);
    expect(lines.at(-1)).toBe('404 not_found System of record not found');
    const { rows } = await store.db.query<{ body: string }>(
      'SELECT body::text FROM feed_requests WHERE entity_id = $1',
      [world.entity.id],
    );
    expect(rows.map(({ body }) => body)).toEqual([expect.stringContaining('9007199254740993')]);
  });

  test('keeps whole numbers beyond 2^53 exact', async () => {
    await store.db.query(
      `INSERT INTO attribute_values (entity_id, sor_id, customer_type, attribute_id, changed_at, customer_id, number_value)
       VALUES ($1, $2, 0, $3, now(), $4, 9223372036854775807)`,
      [world.entity.id, world.sor.id, world.attributes['score']!.id, CUSTOMER],
    );
    const query = { sor_id: world.sor.identifier, customer_type: 'user_id', customer_id: CUSTOMER };
    expect(await client.readCustomerAttributeValues({ query })).toEqual({ score: 9223372036854775807n });
  });

  test('goes through all pages of a list, by number and by cursor', async () => {
    const made: string[] = [];
    for (const name of ['one', 'two', 'three']) {
      made.push(
        (await client.createServiceToken({ body: { name, rights: ['sor_manage'], expires_in_days: 1 } })).identifier,
      );
    }
    const tokens = await Array.fromAsync(client.each.listServiceTokens({ query: { per_page: 1 } }));
    expect(new Set(tokens.map(({ identifier }) => identifier))).toEqual(new Set(made));
    expect(tokens).toHaveLength(made.length);
    // Where a proxy gives the server another path and host, its links say so; this client goes on where it began.
    const paths: (string | undefined)[] = [];
    const page =
      (next: string | null): RequestListener =>
      (request, reply) => {
        paths.push(request.url);
        const result = { items: [{}], navigation: { next } };
        reply.writeHead(200).end(JSON.stringify({ success: true, result }));
      };
    const { elsewhere } = await answering(
      page('https://example.com//millrace/api/service_tokens?per_page=1&page=2'),
      page(null),
    );
    expect(await Array.fromAsync(elsewhere.each.listServiceTokens({ query: { per_page: 1 } }))).toHaveLength(2);
    expect(paths).toEqual(['/api/service_tokens?per_page=1', '/api/service_tokens?per_page=1&page=2']);
    const created = client.each.listAuditEntries({
      query: { per_page: 2, action: 'create', subject_kind: 'service_token' },
    });
    expect((await Array.fromAsync(created)).map(({ subject }) => subject)).toEqual(made.toReversed());
  });

  test('throws what the server refuses, with the fields at fault', async () => {
    const refused = await client.createLabel({ body: { name: ' ' } }).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Refusal);
    expect(refused).toMatchObject({
      http: 400,
      status: 'bad_request',
      message: 'name: must not be blank',
      extra: { messages: [{ element: 'name', severity: 'error', message: 'must not be blank' }] },
    });
  });

  test('sends an empty list as one, which the server refuses, and so never asks for all', async () => {
    await expect(client.listCustomerProfiles({ query: { customer_ids: [] } })).rejects.toMatchObject({ http: 400 });
    await expect(client.listLatestGdprRequests({ query: { users: [] } })).rejects.toMatchObject({ http: 400 });
  });

  test('comes back when the server says so, and only with what may be sent again', async () => {
    const reads = await answering(busy(429), busy(503), fine);
    expect(await reads.elsewhere.listLabels()).toEqual([]);
    expect(reads.methods).toEqual(['GET without key', 'GET without key', 'GET without key']);
    const limited = await answering(busy(429), fine);
    await limited.elsewhere.renameLabel({ params: { name: 'a' }, body: { new_name: 'b' } });
    expect(limited.methods).toEqual(['PUT without key', 'PUT without key']);
    const failing = await answering(busy(503), fine);
    await expect(
      failing.elsewhere.renameLabel({ params: { name: 'a' }, body: { new_name: 'b' } }),
    ).rejects.toMatchObject({ http: 503 });
    const creating = await answering((request) => request.socket.destroy(), busy(503), fine);
    await creating.elsewhere.createLabel({ body: { name: 'a' } });
    expect(creating.methods).toEqual(['POST with key', 'POST with key', 'POST with key']);
  });

  test('of a page in a browser sends an audited look once, its own headers, and says that it waits', async () => {
    const waits: string[] = [];
    const headers: unknown[] = [];
    const browser = (at: string) =>
      createClient({
        url: at,
        looksOnce: true,
        headers: () => ({ 'x-millrace-console': '1' }),
        onWait: (ms, { http }) => waits.push(`${http} ${ms}`),
      });
    const cut: RequestListener = (request) => request.socket.destroy();
    const noting: RequestListener = (request, reply) => {
      headers.push(request.headers['x-millrace-console'], request.headers['x-millrace-background']);
      void reply.writeHead(200, { 'x-request-id': 'a' }).end('{"success":true,"result":[]}');
    };
    const looks = await answering(cut, fine);
    await expect(browser(looks.url).listGdprReceipts({ params: { request_id: '1' } })).rejects.toMatchObject({
      status: 'unreachable',
    });
    expect(looks.methods).toHaveLength(1);
    const others = await answering(busy(429), cut, noting);
    const options = {
      headers: { 'x-millrace-background': '1' },
      onHeaders: (got: Headers) => headers.push(got.get('x-request-id')),
    };
    await browser(others.url).listLabels({}, options);
    expect(waits).toEqual(['429 0', '503 600']);
    expect(headers).toEqual(['1', '1', 'a']);
  });

  test('ends a call that is aborted, says of a file how to get it, and stays in its path', async () => {
    const { elsewhere } = await answering(() => {});
    await expect(elsewhere.listLabels({}, { signal: AbortSignal.timeout(1) })).rejects.toThrow(/timeout|aborted/);
    await expect(client.exportAuditLog()).rejects.toThrow('client.stream.exportAuditLog');
    for (const name of ['', '.', '..']) {
      await expect(client.deleteLabel({ params: { name } })).rejects.toThrow('params.name');
    }
    const pieces = await Array.fromAsync(await client.stream.exportAuditLog());
    expect(Buffer.concat(pieces).toString()).toMatch(/^id,date,/);
  });
});

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { importEnded, postImport } from '../../harness/imports/imports.ts';
import { runMillrace } from '../core/run-millrace.ts';

const stack = useStack();
let world: World;
let port: number;
let path: string;

beforeAll(async () => {
  stack.startWorker();
  world = await makeWorld(stack.store);
  port = Number(new URL(await stack.app.listen({ port: 0, host: '127.0.0.1' })).port);
  const folder = await mkdtemp(join(tmpdir(), 'millrace-cli-'));
  onFileEnd(() => rm(folder, { recursive: true }));
  path = join(folder, 'values.csv');
  await writeFile(path, `user_id,attribute_key,value\n${personId(1)},plan,gold\n`);
});

/** Which bytes a line lets through, as text; a connection whose bytes it doesn't is reset. */
type Line = { passesRequest?: (text: string) => boolean; passesReply?: (text: string) => boolean };

/** A bad line to the server. */
async function overLine({ passesRequest = () => true, passesReply = () => true }: Line): Promise<string> {
  return listening(
    createServer((client) => {
      const upstream = connect(port, '127.0.0.1');
      const cut = () => {
        client.resetAndDestroy();
        upstream.destroy();
      };
      client.on('data', (chunk) => (passesRequest(chunk.toString('latin1')) ? upstream.write(chunk) : cut()));
      upstream.on('data', (chunk) => (passesReply(chunk.toString('latin1')) ? client.write(chunk) : cut()));
      for (const socket of [client, upstream]) socket.on('error', cut).on('close', cut);
    }),
  );
}

async function listening(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onFileEnd(async () => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const importOver = (url: string) =>
  runMillrace(['import', path, '--sor', world.sor.identifier], { url, token: world.token });
const isUpload = (text: string) => text.includes('POST /api/attribute_values/batch_import');

async function countImports(): Promise<number> {
  const reply = await stack.app.inject({
    method: 'GET',
    url: '/api/attribute_values/import_jobs',
    headers: { authorization: `Token ${world.token}` },
  });
  return Object.keys((reply.json() as { result: object }).result).length;
}

describe('a connection that fails', () => {
  it('while the file is sent: it is sent again', async () => {
    let uploads = 0;
    const url = await overLine({ passesRequest: (text) => !isUpload(text) || (uploads += 1) > 1 });
    const { status, out } = await importOver(url);
    expect(out).toContain('finished: 1 row read, 1 ok, 0 ignored, 0 failed');
    expect([status, uploads]).toEqual([0, 2]);
  });

  it('while the file is sent, again and again: it is given up', async () => {
    let uploads = 0;
    const { status, err } = await importOver(
      await overLine({
        passesRequest: (text) => {
          if (isUpload(text)) uploads += 1;
          return !isUpload(text);
        },
      }),
    );
    expect([status, uploads]).toEqual([1, 3]);
    expect(err).toMatch(/^\S+ does not answer \(\w+\): is the server running/);
  });

  it('before the answer has come: there is one import all the same', async () => {
    const before = await countImports();
    let lost = 0;
    const url = await overLine({
      passesReply: (text) => {
        const isLost = lost === 0 && text.includes('"jid"');
        if (isLost) lost += 1;
        return !isLost;
      },
    });
    const { status, out } = await importOver(url);
    expect([status, lost]).toEqual([0, 1]);
    expect(out).toContain('finished: 1 row read');
    expect(await countImports()).toBe(before + 1);
  });

  it('in the middle of a list of errors: what was printed is said to be incomplete', async () => {
    const rows = Array.from({ length: 5_000 }, () => `${personId(2)},score,many\n`);
    const id = await postImport(stack.app, world, `user_id,attribute_key,value\n${rows.join('')}`);
    await importEnded(stack.store, world, id);
    let replied = 0;
    const url = await overLine({ passesReply: (text) => (replied += text.length) < 300_000 });
    const { status, out, err } = await runMillrace(['errors', id], { url, token: world.token });
    expect(out).toMatch(/^2 +INVALID_VALUE/m);
    expect(err).toBe(`The connection to ${url} broke off: the response is not complete.\n`);
    expect(status).toBe(1);
  });
});

describe('something else than Millrace answers', () => {
  it.each([
    ['a page of a proxy that has lost its server', 502, ['status', 'imp_1'], /answered 502, not as Millrace does/],
    ['the same for a list', 502, ['errors', 'imp_1'], /answered 502, not as Millrace does/],
    ['a page of success', 200, ['errors', 'imp_1', '--json'], /something else than a list of errors/],
  ])('%s: a clear line', async (_what, httpStatus, args, words) => {
    const url = await listening(
      createHttpServer((_request, reply) => {
        reply.writeHead(httpStatus, { 'content-type': 'text/html' }).end('<html><body>Hello</body></html>');
      }),
    );
    const { status, out, err } = await runMillrace(args, { url, token: world.token });
    expect(err).toMatch(words);
    expect(err).not.toContain('    at ');
    expect([status, out]).toEqual([1, '']);
  });

  it('an address that is none, or a token that cannot be sent, is said without showing the token', async () => {
    const token = 'not a\ntoken';
    const url = `http://127.0.0.1:${port}`;
    expect((await runMillrace(['status', 'imp_1'], { url: 'nowhere', token })).err).toContain('MILLRACE_URL is no URL');
    const { status, err } = await runMillrace(['status', 'imp_1'], { url, token });
    expect([status, err]).toEqual([1, 'The request could not be sent: is MILLRACE_TOKEN right?\n']);
  });
});

describe('millrace import of a URL', () => {
  const secret = 'opensesame-4711';
  const fetched = 'https://files.example.com/values.csv';

  it('sends the URL and its headers to the server, and shows no header', async () => {
    rememberSecret(secret);
    let sent = '';
    const url = await overLine({
      passesRequest: (text) => {
        sent += text;
        return !isUpload(sent);
      },
    });
    const { out, err } = await runMillrace(
      [
        'import',
        fetched,
        '--sor',
        world.sor.identifier,
        '--header',
        `Authorization: Bearer ${secret}`,
        '--header',
        'X-Team: crm:1',
      ],
      { url, token: world.token },
    );
    expect(sent).toContain(`"file_url":"${fetched}"`);
    expect(sent).toContain(`"request_headers":{"Authorization":"Bearer ${secret}","X-Team":"crm:1"}`);
    expect(out + err).not.toContain(secret);
  });

  it('refuses a header that is none, and one for a file, without showing it', async () => {
    const surroundings = { url: `http://127.0.0.1:${port}`, token: world.token };
    for (const [source, header] of [
      [fetched, secret],
      [path, `X-Key: ${secret}`],
    ] as const) {
      const { status, out, err } = await runMillrace(
        ['import', source, '--sor', world.sor.identifier, '--header', header],
        surroundings,
      );
      expect(err).toMatch(/^--header /);
      expect(out + err).not.toContain(secret);
      expect(status).toBe(1);
    }
  });
});

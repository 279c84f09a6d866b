/** Serves the console's pages under a policy that lets them load and call only this server. */
import serveFiles from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { escaped } from '../../domain/text/html.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { ConsoleFiles } from '../dependencies.ts';

const policyOf = (nonce: string): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self'",
    "font-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');

const HTML = 'text/html; charset=utf-8';
/** Names of assets contain a hash of their content. */
const ASSET = /^[\w-]+\.[\w.-]*[A-Za-z]$/;
const NONCE = '%NONCE%';

export async function serveConsole(app: FastifyInstance, console: ConsoleFiles | undefined): Promise<void> {
  if (!console) return;
  await app.register(async (scope) => {
    await scope.register(serveFiles, { root: '/', serve: false, preCompressed: true, immutable: true, maxAge: '365d' });
    scope.get('/console', async (_request, reply) => reply.redirect('console/', 308));
    scope.get<{ Params: { name: string } }>('/console/assets/:name', async ({ params: { name } }, reply) => {
      const folder = ASSET.test(name)
        ? console.built().folders.find((each) => existsSync(join(each, 'assets', name)))
        : undefined;
      if (folder === undefined) return refuse(404, 'not_found', 'This build of the console has no such file');
      return reply.sendFile(name, join(folder, 'assets'));
    });
    const shell = async (_request: unknown, reply: FastifyReply) => {
      const { folders, problem } = console.built();
      if (folders[0] === undefined) return unbuilt(reply, problem);
      const nonce = randomBytes(16).toString('base64');
      return reply
        .headers({ 'content-security-policy': policyOf(nonce), 'cache-control': 'no-store' })
        .type(HTML)
        .send((await shellOf(folders[0])).replaceAll(NONCE, nonce));
    };
    scope.get('/console/', shell);
    scope.get('/console/*', shell);
  });
}

const shells = new Map<string, string>();

async function shellOf(folder: string): Promise<string> {
  const shell = shells.get(folder) ?? (await readFile(join(folder, 'index.html'), 'utf8'));
  shells.set(folder, shell);
  return shell;
}

/** Answers while the console is built (the page reloads itself), or if it can't be. */
function unbuilt(reply: FastifyReply, problem: string | null): FastifyReply {
  const text = problem ?? 'The console is being built. This takes some seconds.';
  const again = problem === null ? '<meta http-equiv="refresh" content="2">' : '';
  return reply
    .status(503)
    .headers({ 'cache-control': 'no-store', 'retry-after': problem === null ? '2' : '60' })
    .type(HTML)
    .send(
      `<!doctype html><html lang="en"><head><meta charset="utf-8">${again}<title>Millrace</title></head>` +
        `<body><p>${escaped(text)}</p></body></html>`,
    );
}

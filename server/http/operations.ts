/** Routes for operators and their tools: health, metrics, the manual and the API page. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import swagger from '@fastify/swagger';
import swaggerUi from '@fastify/swagger-ui';
import type { FastifyInstance } from 'fastify';
import { Marked } from 'marked';
import { gfmHeadingId } from 'marked-gfm-heading-id';
import { escaped } from '../../domain/text/html.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { ServerDependencies } from '../dependencies.ts';

/** A policy of only own content, so that the page works without internet. */
const PAGE_CSP = "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";
const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" width="180" height="40"><text x="0" y="28" fill="#fff" ' +
  'font-family="system-ui,sans-serif" font-size="24">Millrace API</text></svg>';
const JSON_TYPE = 'application/json; charset=utf-8';
/** Machines call it every few seconds: it is neither counted nor traced. */
const PROBE = { config: { rateLimit: false, isProbe: true } } as const;

export const KEPT_MS = 1_000;

/** Serves metrics, the manual and the API page, for operators and their tools. They need no user's token. */
export async function serveOperations(
  app: FastifyInstance,
  deps: Pick<ServerDependencies, 'metrics' | 'settings' | 'console'>,
  document: object,
): Promise<void> {
  if (!deps.settings.hasMetricsElsewhere) serveMetrics(app, deps.metrics, deps.settings.metricsToken);
  serveManual(app, deps.console !== undefined);
  const json = JSON.stringify(document);
  app.get('/openapi.json', async (_request, reply) => reply.type(JSON_TYPE).send(json));
  await app.register(swagger, { mode: 'static', specification: { document: document as never } });
  await app.register(swaggerUi, {
    routePrefix: '/docs',
    staticCSP: PAGE_CSP,
    uiConfig: { validatorUrl: null, displayRequestDuration: true },
    theme: { title: 'Millrace API' },
    logo: { type: 'image/svg+xml', content: Buffer.from(LOGO), href: '../', target: '_self' },
  });
}

export function serveMetrics(
  app: FastifyInstance,
  metrics: Pick<ServerDependencies['metrics'], 'text' | 'contentType'>,
  token?: string,
): void {
  const text = keptFor(KEPT_MS, () => metrics.text());
  app.get('/metrics', PROBE, async ({ headers: { authorization } }, reply) => {
    if (token !== undefined && !isBearer(authorization, token)) {
      reply.header('www-authenticate', 'Bearer');
      return refuse(401, 'unauthorized', 'Metrics need the header Authorization: Bearer <MILLRACE_METRICS_TOKEN>');
    }
    return reply.type(metrics.contentType).send(await text());
  });
}

/** Compares hashes, which have one length, in constant time. */
function isBearer(header: string | undefined, token: string): boolean {
  const [scheme = '', given = ''] = (header ?? '').split(' ', 2);
  return scheme.toLowerCase() === 'bearer' && timingSafeEqual(sha256(given), sha256(token));
}

const sha256 = (text: string) => createHash('sha256').update(text).digest();

export function keptFor<T>(ms: number, work: () => Promise<T>): () => Promise<T> {
  let kept: { answer: Promise<T>; at: number } | undefined;
  return async () => {
    if (kept && performance.now() - kept.at < ms) return kept.answer;
    const own = { answer: work(), at: performance.now() };
    kept = own;
    own.answer.catch(() => {
      if (kept === own) kept = undefined;
    });
    return own.answer;
  };
}

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;color:#1b1b1b;background:#fff;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{border:1px solid #ccc;padding:.25rem .5rem;vertical-align:top;text-align:left}
code,pre{background:#f4f4f4;border-radius:3px}pre{padding:.75rem;overflow-x:auto}
@media(prefers-color-scheme:dark){body{color:#e4e4e4;background:#171717}a{color:#8ab4f8}
code,pre{background:#262626}td,th{border-color:#444}}`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
const HEADERS = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'`,
};

const FOLDER = new URL('../../docs/', import.meta.url);
const NAME = /^[A-Za-z][A-Za-z-]*\.md$/;
const PICTURE = /^[a-z-]+\.png$/;

const homePage = (hasConsole: boolean): string => `<h1>Millrace</h1>
<ul>
<li><a href="manual/README.md">Documentation</a>, of the version that runs here;
begin with <a href="manual/first-import.md">a first import</a></li>
${hasConsole ? '<li><a href="console/">Console</a></li>' : ''}
<li><a href="docs/">API page</a>, and its <a href="openapi.json">OpenAPI document</a></li>
<li><a href="health/ready">Health</a>: each part, and whether it is ready</li>
</ul>`;

function serveManual(app: FastifyInstance, hasConsole: boolean): void {
  const pages = new Map<string, Promise<string>>();
  const pageOf = (name: string) => {
    if (!pages.has(name)) pages.set(name, render(name));
    return pages.get(name)!;
  };
  app.get('/', async (_request, reply) =>
    reply
      .headers(HEADERS)
      .type('text/html; charset=utf-8')
      .send(page('Millrace', homePage(hasConsole))),
  );
  app.get<{ Params: { name: string } }>('/manual/:name', async ({ params: { name } }, reply) => {
    if (!NAME.test(name)) return refuse(404, 'not_found', 'Unknown page: /manual/README.md lists those there are');
    const html = await pageOf(name).catch(() => {
      pages.delete(name);
      return refuse(404, 'not_found', 'Unknown page: /manual/README.md lists those there are');
    });
    return reply.headers(HEADERS).type('text/html; charset=utf-8').send(html);
  });
  app.get<{ Params: { name: string } }>('/manual/pictures/:name', async ({ params: { name } }, reply) => {
    const unknown = () => refuse(404, 'not_found', 'Unknown picture');
    const picture = PICTURE.test(name) ? await readFile(new URL(`pictures/${name}`, FOLDER)).catch(unknown) : unknown();
    return reply.headers(HEADERS).type('image/png').send(picture);
  });
}

async function render(name: string): Promise<string> {
  const markdown = await readFile(new URL(name, FOLDER), 'utf8');
  const title = /^# (.*)$/m.exec(markdown)?.[1] ?? name;
  const html = (await new Marked(gfmHeadingId()).parse(markdown))
    // The service serves no sources.
    .replaceAll(/<a href="\.\.\/[^"<>]*">/g, '<a>');
  return page(title, `<p><a href="../">Millrace</a> · <a href="README.md">Documentation</a></p>\n${html}`);
}

function page(title: string, body: string): string {
  return (
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${escaped(title)}</title><style>${STYLE}</style></head><body>\n${body}\n</body></html>\n`
  );
}

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { Marked } from 'marked';
import { gfmHeadingId } from 'marked-gfm-heading-id';
import { escaped } from '../../domain/core/html.ts';
import { refuse } from '../../domain/core/refusal.ts';

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;color:#1b1b1b;background:#fff;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;display:block;overflow-x:auto}
td,th{border:1px solid #ccc;padding:.25rem .5rem;vertical-align:top;text-align:left}
code,pre{background:#f4f4f4;border-radius:3px}pre{padding:.75rem;overflow-x:auto}
@media(prefers-color-scheme:dark){body{color:#e4e4e4;background:#171717}a{color:#8ab4f8}
code,pre{background:#262626}td,th{border-color:#444}}`;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');
const HEADERS = {
  'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; frame-ancestors 'none'`,
};

const FOLDER = new URL('../../docs/', import.meta.url);
/** Nothing but pages of the folder has such a name. */
const NAME = /^[A-Za-z][A-Za-z-]*\.md$/;

const HOME = `<h1>Millrace</h1>
<ul>
<li><a href="manual/README.md">Documentation</a>, of the version that runs here;
begin with <a href="manual/first-import.md">a first import</a></li>
<li><a href="docs/">API page</a>, and its <a href="openapi.json">OpenAPI document</a></li>
<li><a href="health/ready">Health</a>: each part, and whether it is ready</li>
</ul>`;

/**
 * `GET /`, and the pages of `docs/` as HTML, each made from its Markdown once. Their links work without scripts or
 * internet.
 */
export function serveManual(app: FastifyInstance): void {
  const pages = new Map<string, Promise<string>>();
  const pageOf = (name: string) => {
    if (!pages.has(name)) pages.set(name, render(name));
    return pages.get(name)!;
  };
  app.get('/', async (_request, reply) =>
    reply.headers(HEADERS).type('text/html; charset=utf-8').send(page('Millrace', HOME)),
  );
  app.get<{ Params: { name: string } }>('/manual/:name', async ({ params: { name } }, reply) => {
    if (!NAME.test(name)) return refuse(404, 'not_found', 'Unknown page: /manual/README.md lists those there are');
    const html = await pageOf(name).catch(() => {
      pages.delete(name);
      return refuse(404, 'not_found', 'Unknown page: /manual/README.md lists those there are');
    });
    return reply.headers(HEADERS).type('text/html; charset=utf-8').send(html);
  });
}

async function render(name: string): Promise<string> {
  const markdown = await readFile(new URL(name, FOLDER), 'utf8');
  const title = /^# (.*)$/m.exec(markdown)?.[1] ?? name;
  const html = (await new Marked(gfmHeadingId()).parse(markdown))
    // Sources are with the program, not with the service.
    .replaceAll(/<a href="\.\.\/[^"<>]*">/g, '<a>');
  return page(title, `<p><a href="../">Millrace</a> · <a href="README.md">Documentation</a></p>\n${html}`);
}

function page(title: string, body: string): string {
  return (
    `<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">` +
    `<title>${escaped(title)}</title><style>${STYLE}</style></head><body>\n${body}\n</body></html>\n`
  );
}

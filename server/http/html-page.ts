/** Pages that a mailed link opens: their frame and headers. They have no scripts and no token. */
import { createHash } from 'node:crypto';
import { escaped } from '../../domain/text/html.ts';

/** The style of all pages, which the headers allow by its hash. */
const PAGE_STYLE = `body{font:16px/1.5 system-ui,sans-serif;color:#1b1b1b;background:#fff}
body{max-width:28rem;margin:3rem auto;padding:0 1rem}
label{display:block;margin:1rem 0}input{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.5rem}
button{font:inherit;padding:.5rem 1.5rem}`;

const STYLE_HASH = createHash('sha256').update(PAGE_STYLE).digest('base64');

/** Headers that forbid scripts, foreign content and frames, and keep an address with a token out of others' logs. */
export const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
};

/** Returns a page with a title and parts of HTML. */
export function htmlPage(title: string, parts: string[]): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escaped(title)}</title>
<style>${PAGE_STYLE}</style>
</head>
<body>
<h1>${escaped(title)}</h1>
${parts.join('\n')}
</body>
</html>
`;
}

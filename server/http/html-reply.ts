import { createHash } from 'node:crypto';
import { PAGE_STYLE } from '../../domain/accounts/account-page.ts';
import { Reply } from './reply.ts';

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

export function htmlReply(page: string): Reply {
  return new Reply(Buffer.from(page), 200, PAGE_HEADERS);
}

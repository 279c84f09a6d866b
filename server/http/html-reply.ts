import { createHash } from 'node:crypto';
import { PAGE_STYLE } from '../../domain/accounts/account-page.ts';
import { Reply } from './reply.ts';

const STYLE_HASH = createHash('sha256').update(PAGE_STYLE).digest('base64');

/**
 * No scripts, nothing from elsewhere, no frame around it; the address, which may hold a token, goes nowhere and is kept
 * nowhere.
 */
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

/** A page for a person's browser. */
export function htmlReply(page: string): Reply {
  return new Reply(Buffer.from(page), 200, PAGE_HEADERS);
}

import { z } from 'zod';
import { text, textArray } from '../../api/core/input.ts';
import { validate } from '../http/validate.ts';

/** An app as a caller says it (docs/apps.md). */

const MAX_DOMAINS = 200;

const HOST = /^(?:\*\.)?(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)*[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?(?::\d{1,5})?$/u;

const host = text({ max: 260 }).regex(HOST, 'must be a host name, such as www.example.com');
const WebApp = z.object({ domains: textArray(host, MAX_DOMAINS).optional() });

/** The domains that a body gives a web app; undefined where it gives none. */
export function readDomains(domains: unknown): string[] | undefined {
  return validate(WebApp, { domains }, 'body').domains;
}

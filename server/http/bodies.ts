/** Parses the bodies of requests: JSON, web forms and uploads. */
import multipart from '@fastify/multipart';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { withRoundedAsText } from '../../domain/json/plain-json.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { parseJsonBody } from './json-body.ts';
import { verifyBody } from './verify-body.ts';

const JSON_TYPES = /^application\/(?:json|[\w.-]+\+json)\s*(?:;|$)/i;
/** A double keeps 15 digits of any number. */
const LONG_NUMBER = /[\d.]{16}/;
const FORM_FIELDS = 200;
const FORM_FIELD_BYTES = 1024 ** 2;

/** Parses JSON and web forms. The parts of a form with files are read later, as they come. */
export async function readBodies(app: FastifyInstance, deps: RouteDependencies): Promise<void> {
  const { limits } = deps;
  app.removeAllContentTypeParsers();
  const whole = { parseAs: 'buffer', bodyLimit: limits.bodyBytes } as const;
  app.addContentTypeParser(JSON_TYPES, whole, async (request: FastifyRequest, bytes: Buffer) => {
    refuseOtherCharset(request);
    await verifyBody(request, bytes, 'json', deps);
    const exactNumbers = request.routeOptions.config.route?.exactNumbers;
    if (exactNumbers !== 'as text') return parseJsonBody(bytes, limits.nesting, { exactNumbers, proto: 'refuse' });
    const mayRound = LONG_NUMBER.test(bytes.toString('latin1'));
    const body = await parseJsonBody(bytes, limits.nesting, { exactNumbers: mayRound, proto: 'refuse' });
    return mayRound ? withRoundedAsText(body) : body;
  });
  const form = 'application/x-www-form-urlencoded';
  app.addContentTypeParser(form, whole, async (request: FastifyRequest, bytes: Buffer) => {
    refuseOtherCharset(request);
    await verifyBody(request, bytes, 'form', deps);
    return valuesByName(new URLSearchParams(bytes.toString()));
  });
  await app.register(multipart, {
    limits: { fields: FORM_FIELDS, fieldSize: FORM_FIELD_BYTES, files: 1, fileSize: Infinity, parts: FORM_FIELDS + 1 },
    throwFileSizeLimit: false,
  });
}

/** Returns pairs as an object: a repeated name, or one written `name[]`, becomes an array. */
export function valuesByName(pairs: Iterable<[string, unknown]>): Record<string, unknown> {
  const found = new Map<string, { isArray: boolean; values: unknown[] }>();
  for (const [written, value] of pairs) {
    const isArray = written.endsWith('[]') || Array.isArray(value);
    const name = written.endsWith('[]') ? written.slice(0, -2) : written;
    const known = found.get(name);
    if (known) known.values.push(value);
    else found.set(name, { isArray, values: [value] });
  }
  return Object.fromEntries(
    [...found].map(([name, { isArray, values }]) => [name, isArray || values.length > 1 ? values.flat() : values[0]]),
  );
}

function refuseOtherCharset(request: FastifyRequest): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(request.headers['content-type'] ?? '')?.[1];
  if (charset !== undefined && !/^utf-?8$/i.test(charset)) {
    refuse(415, 'unsupported_media_type', 'Content-type: send the body as UTF-8');
  }
}

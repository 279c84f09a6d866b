/** The paths of Segment's tracking API. A body that is no JSON becomes one refused call, which developers see. */

import { isUtf8 } from 'node:buffer';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, gunzip } from 'node:zlib';
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import * as api from '../../api/tracking/tracking.ts';
import { Refusal, refuse, refuseField } from '../../domain/core/refusal.ts';
import { storable, withoutCutWord } from '../../domain/text/text-limits.ts';
import { yieldToEventLoop } from '../../store/core/yield-to-event-loop.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';
import type { RefusedAppCall } from '../../store/tracking/call-reports.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { sendError } from '../http/refusal-reply.ts';
import type { Route } from '../http/route.ts';
import { serveRoute } from '../http/serve-route.ts';
import { MAX_UNVERIFIED_BYTES, verifyBody, writeKeysIn } from '../http/verify-body.ts';
import { targetOfKey } from './write-keys.ts';

/** Any page may send calls, since no cookie counts here. */
const CORS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': 'Retry-After, X-Request-Id',
  'cross-origin-resource-policy': 'cross-origin',
};
const PREFLIGHT = {
  'access-control-allow-methods': 'GET, POST, OPTIONS',
  'access-control-max-age': '86400',
  vary: 'Access-Control-Request-Headers',
};

export async function serveTracking(
  app: FastifyInstance,
  routes: readonly Route[],
  deps: RouteDependencies,
): Promise<void> {
  await app.register(async (scope) => {
    readTrackingBodies(scope, deps);
    scope.addHook('onRequest', async (_request, reply) => {
      reply.headers(CORS);
    });
    scope.addHook('preParsing', async (request) => {
      const writeKey = basicUserOf(request.headers.authorization);
      if (writeKey === '') return;
      request.trackingTarget = await targetOfKey(deps, writeKey, request.ip);
      request.verified();
    });
    scope.options('/v1/*', { config: { rateLimit: false } }, async ({ headers }, reply) => {
      // Allows the headers of any version of an SDK.
      const asked = headers['access-control-request-headers'] ?? 'Authorization, Content-Type, Content-Encoding';
      return reply
        .headers({ ...PREFLIGHT, 'access-control-allow-headers': asked })
        .status(204)
        .send();
    });
    for (const route of routes) serveRoute(scope, route, deps);
  });
}

/** Returns the user of Basic authentication, or an empty text. */
function basicUserOf(authorization: string | undefined): string {
  const [, encoded = ''] = /^Basic +([\w+/=-]+) *$/i.exec(authorization ?? '') ?? [];
  return Buffer.from(encoded, 'base64').toString().replace(/:.*$/s, '');
}

/** Segment's limit of a batch, zipped and unzipped. */
const MAX_BODY_BYTES = 500 * 1024;
/** Maximum nesting of a body, above a call's own (`readCall`), which refuses only that call. */
const NESTING = 1_000;
/** Maximum number of bodies that wait to be parsed, which the admission limit does not count yet. */
const MAX_WAITING = 64;
const PARSED_AT_ONCE_BYTES = 16 * 1024;
/** White space and a UTF-8 byte order mark may come first. */
const BEGINS_AS_JSON = /^(?:\xef\xbb\xbf)?\s*\{/;
const TYPES = /^(?:application\/json|text\/plain)\s*(?:;|$)/i;

const unzip = promisify(gunzip);

/** Parses JSON of any content type, maybe zipped. Refuses too large bodies with 400, so that SDKs give up. */
function readTrackingBodies(app: FastifyInstance, deps: RouteDependencies): void {
  const turn = yieldToEventLoop(MAX_WAITING);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    TYPES,
    { parseAs: 'buffer', bodyLimit: MAX_BODY_BYTES },
    async (request: FastifyRequest, bytes: Buffer) => {
      const json = await verifiedJson(request, bytes, deps);
      if (json.length > PARSED_AT_ONCE_BYTES) await turn();
      return sized(request, json, deps);
    },
  );
  app.setErrorHandler((error, request, reply) => sendError(toTrackingRefusal(error as FastifyError), request, reply));
}

const sizes = new WeakMap<object, number>();

export function bytesOfBody(body: unknown): number {
  return typeof body === 'object' && body !== null ? (sizes.get(body) ?? 0) : 0;
}

async function sized(request: FastifyRequest, bytes: Buffer, deps: RouteDependencies): Promise<unknown> {
  const body = await parseJsonBody(bytes, NESTING, { exactNumbers: true, proto: 'keep' }).catch(
    async (error: unknown) => {
      if (error instanceof Refusal) await keepUnreadableBody(request, bytes, error, deps);
      throw error;
    },
  );
  if (typeof body === 'object' && body !== null) sizes.set(body, bytes.length);
  return body;
}

/** Returns the JSON once its key is valid. Until then unzips no more than may come without credentials. */
async function verifiedJson(request: FastifyRequest, bytes: Buffer, deps: RouteDependencies): Promise<Buffer> {
  if (request.trackingTarget) return unpacked(request, bytes);
  const isZipped = encodingOf(request, bytes) !== 'identity';
  const head = isZipped ? await unzippedHead(bytes) : bytes;
  await verifyBody(request, head, 'json', deps);
  const isWhole = isZipped && head.length > 0 && head.length <= MAX_UNVERIFIED_BYTES;
  return isWhole ? head : unpacked(request, bytes);
}

/** Unzips one byte more than may come without credentials. Leaves a non-gzip body to `unpacked`. */
async function unzippedHead(bytes: Buffer): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let length = 0;
  try {
    for await (const piece of Readable.from([bytes]).pipe(createGunzip())) {
      pieces.push(piece as Buffer);
      length += (piece as Buffer).length;
      if (length > MAX_UNVERIFIED_BYTES) break;
    }
  } catch {
    return Buffer.alloc(0);
  }
  return Buffer.concat(pieces).subarray(0, MAX_UNVERIFIED_BYTES + 1);
}

/** Returns the encoding in lower case. A body that begins as JSON has none: some proxies unzip and keep the header. */
function encodingOf({ headers }: FastifyRequest, bytes: Buffer): string {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity';
  return BEGINS_AS_JSON.test(bytes.toString('latin1', 0, 64)) ? 'identity' : encoding === 'x-gzip' ? 'gzip' : encoding;
}

async function unpacked(request: FastifyRequest, bytes: Buffer): Promise<Buffer> {
  const encoding = encodingOf(request, bytes);
  if (encoding === 'identity') return bytes;
  if (encoding !== 'gzip') return refuse(415, 'unsupported_media_type', 'Content-Encoding: gzip, or none');
  try {
    return await unzip(bytes, { maxOutputLength: MAX_BODY_BYTES });
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    return refuseField('body', 'is not gzip, as Content-Encoding says');
  }
}

function tooLarge(): Refusal {
  return new Refusal(
    400,
    'too_large',
    `body: must have at most ${MAX_BODY_BYTES / 1024} KiB, also unzipped: send smaller batches`,
  );
}

function toTrackingRefusal(error: FastifyError): unknown {
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge();
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new Refusal(415, 'unsupported_media_type', 'Content-Type: JSON as application/json or text/plain');
  }
  return error;
}

const KEPT_BYTES = 2 * 1024;
const OPERATIONS: ReadonlySet<string> = new Set(
  [
    api.sendBatch,
    api.sendImportedBatch,
    ...api.otherBatches,
    ...api.singleCalls.flatMap(({ operations }) => operations),
  ].map(({ id }) => id),
);

const KEY = /"writeKey"\s*:\s*"[^"]*"?/g;
const ID = /"(?<name>userId|previousId|anonymousId|id)"\s*:\s*"(?<id>[^"\\]{1,256})"/g;

/** Keeps a refused body as one refused call. Skips bodies of other operations, and of unknown keys. */
async function keepUnreadableBody(
  request: FastifyRequest,
  bytes: Buffer,
  { status, message }: Refusal,
  deps: RouteDependencies,
): Promise<void> {
  const { route } = request.routeOptions.config;
  if (route === undefined || !OPERATIONS.has(route.id)) return;
  const [writeKey = ''] = writeKeysIn(bytes);
  const target = request.trackingTarget ?? (await targetOfKey(deps, writeKey, request.ip).catch(() => null));
  if (target === null) return;
  const { entityId, apps } = target;
  const text = beginningOf(bytes);
  const refused: RefusedAppCall = {
    index: 0,
    messageId: null,
    code: status === 'too_large' ? 'too_large' : 'invalid',
    message,
    raw: text,
    people: peopleIn(text),
    appId: apps.length === 1 ? apps[0].appId : null,
  };
  const taken = await deps.trackingAdmission.within(entityId, bytes.length, () =>
    deps.writeCalls(entityId, { calls: [], refused: [refused] }),
  );
  deps.liveCalls.add(target, deps.liveCalls.select(target, [text], {}), { calls: [], refused: [refused] }, taken);
  deps.metrics.countCalls('refused', 1);
}

/** Returns 2 KiB as text without the write key and a cut word, since an erasure searches for whole ids. */
function beginningOf(bytes: Buffer): string {
  const first = bytes.subarray(0, KEPT_BYTES);
  // In another encoding, UTF-8 would hide ids.
  const text = first.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
  if (text.includes('\0')) return '';
  return storable(bytes.length > KEPT_BYTES ? withoutCutWord(text) : text).replaceAll(KEY, '"writeKey":"…"');
}

function peopleIn(text: string): Person[] {
  return [...text.matchAll(ID)].map(({ groups }): Person => {
    const { name, id } = groups as { name: string; id: string };
    return { customerType: name === 'userId' || name === 'previousId' ? 'user_id' : 'device_id', customerId: id };
  });
}

import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, gunzip } from 'node:zlib';
import type { FastifyError, FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal, refuse, refuseField } from '../../domain/core/refusal.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { parseJsonBody } from '../http/json-body.ts';
import { sendError } from '../http/refusal-reply.ts';
import { MAX_UNVERIFIED_BYTES, verifyBody } from '../http/verify-body.ts';
import { yieldToEventLoop } from '../../store/core/yield-to-event-loop.ts';
import { keepUnreadableBody } from './unreadable-body.ts';

/** Segment's limit of a batch, as it comes and unzipped. */
const MAX_BODY_BYTES = 500 * 1024;
/**
 * Arrays and objects of a body. Of a call fewer are taken (`readCall`), so that one which nests too deep is refused by
 * itself.
 */
const NESTING = 1_000;
/** Bodies that wait to be parsed, which `TrackingAdmissionLimit` does not know of yet. */
const MAX_WAITING = 64;
/** A body of no more waits for none of the large ones, which others may have sent. */
const PARSED_AT_ONCE_BYTES = 16 * 1024;
/** After a byte order mark in UTF-8, and white space. */
const BEGINS_AS_JSON = /^(?:\xef\xbb\xbf)?\s*\{/;
const TYPES = /^(?:application\/json|text\/plain)\s*(?:;|$)/i;

const unzip = promisify(gunzip);

/** What SDKs send: JSON, whatever they call it, maybe zipped. What is too large is a 400, at which they give up. */
export function readTrackingBodies(app: FastifyInstance, deps: RouteDependencies): void {
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

/** How many bytes of JSON a body was. */
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

/** Of a zipped body whose key stands in it no more is unzipped, before that holds, than may come without one. */
async function verifiedJson(request: FastifyRequest, bytes: Buffer, deps: RouteDependencies): Promise<Buffer> {
  if (request.trackingTarget) return unpacked(request, bytes);
  const isZipped = encodingOf(request, bytes) !== 'identity';
  const head = isZipped ? await unzippedHead(bytes) : bytes;
  await verifyBody(request, head, 'json', deps);
  const isWhole = isZipped && head.length > 0 && head.length <= MAX_UNVERIFIED_BYTES;
  return isWhole ? head : unpacked(request, bytes);
}

/**
 * What a zipped body begins with, one byte more than may come without credentials; what is no gzip is left to
 * `unpacked`.
 */
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

/** In lower case. A body that begins as JSON does is not encoded: proxies unzip one and leave the header. */
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

/** Serves a route: finds the caller, checks rights and input, calls the handler, and sends its reply. */
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { hasRole, type Operation, type Role } from '../../api/core/operation.ts';
import { MAX_FAULTS, Refusal, refuse, refuseField, refuseFields } from '../../domain/core/refusal.ts';
import { MAX_ELEMENTS, shapeError } from '../../domain/json/json-size.ts';
import { misspeltName } from '../../domain/text/say-unknown.ts';
import type { TrackingTarget } from '../../store/tracking/tracking-target.ts';
import type { RouteDependencies } from '../dependencies.ts';
import type { ApiVersion, Circumstances, Route } from './route.ts';
import { valuesByName } from './bodies.ts';
import { type Caller, findCaller, isOfConsole } from './caller.ts';
import { idempotencyKey, takeTurn } from './idempotency.ts';
import { toReply } from './reply.ts';
import { validate } from './validate.ts';
import { MAX_OPEN_BYTES, MAX_UNVERIFIED_BYTES, verifyFields } from './verify-body.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
    trackingTarget?: TrackingTarget;
  }
  interface FastifyContextConfig {
    route?: Route;
    isProbe?: boolean;
  }
}

/** Finds the caller before the request counts, so that a token has its own share. */
export function authenticate(app: FastifyInstance, { db, settings }: RouteDependencies): void {
  app.decorateRequest('caller', null);
  app.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.route?.auth !== 'token') return;
    request.caller = await findCaller(db, request, settings.tokenTtlDays);
  });
}

/** Refuses callers without the right before the body is read. */
export function authorise(app: FastifyInstance, { cpuShare }: RouteDependencies): void {
  app.addHook('preParsing', async (request) => {
    const {
      caller,
      routeOptions: {
        config: { route },
      },
    } = request;
    if (route?.auth !== 'token') return;
    if (!caller) return refuse(401, 'unauthorized', 'Invalid or missing token');
    refuseOtherEntity(route, caller, request.headers['x-millrace-entity']);
    const isPerson = caller.serviceTokenId === null;
    if (route.role && !hasRole({ ...caller, isPerson }, route.role)) refuse(403, 'forbidden', ROLE_MISSING[route.role]);
    const missing = route.rights.find((right) => !caller.rights.has(right));
    if (missing) refuse(403, 'forbidden', `This needs the right ${missing}`);
    cpuShare.noteCall(caller.entityId);
    request.verified();
  });
}

/** Refuses a tab that shows another entity than its session acts in by now, but for calls about the session. */
function refuseOtherEntity({ path }: Route, { sessionEntity }: Caller, shown: string | string[] | undefined): void {
  if (shown === undefined || sessionEntity === undefined || shown === sessionEntity || path === SESSION_PATH) return;
  refuse(409, 'other_entity', 'The session has been switched to another entity: reload the page');
}

const SESSION_PATH = '/api/session';

const ROLE_MISSING: Record<Role, string> = {
  person: 'This needs a user who has logged in: a service token may not do it',
  admin: 'This needs an admin of the entity',
  superadmin: 'This needs a superadmin',
};

export function serveRoute(app: FastifyInstance, route: Route, deps: RouteDependencies): void {
  app.route({
    method: route.method,
    url: route.path,
    ...(route.auth === 'none' ? { bodyLimit: MAX_OPEN_BYTES } : {}),
    config: {
      route,
      ...(route.auth === 'app_key' || route.isProbe ? { rateLimit: false } : {}),
      ...(route.isProbe ? { isProbe: true } : {}),
    },
    handler: async (request, reply) => send(deps, reply, await answer(route, request, reply, deps)),
  });
}

async function answer(
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: RouteDependencies,
): Promise<unknown> {
  const circumstances = circumstancesOf(request, reply);
  const key = idempotencyKey(route, request.headers);
  const params = route.params ? validate(route.params, request.params, 'path') : {};
  const asked = valuesByName(Object.entries(request.query as object));
  const query = route.query ? validate(route.query, asked, 'query', route.malformedQuery) : {};
  refuseMisspelt(route, 'query', asked);
  const { fields, file } = await readInput(route, request, circumstances, deps);
  const upload = file === undefined ? undefined : route.upload;
  try {
    checkSize(route, fields);
    const body = route.body ? validate(route.body, fields, 'body', route.malformed) : {};
    refuseMisspelt(route, 'body', fields);
    const caller = request.caller ?? undefined;
    const { version, log } = circumstances;
    const content = upload?.identify(file) ?? null;
    const input = { ...query, ...(body as object) };
    const turn = await takeTurn(
      key,
      { route, caller, version, params, query: asked, fields, content, input, log },
      deps,
    );
    if (turn.run)
      return await turn.run((keepReply) =>
        route.handle({ ...circumstances, params, query, body, file, caller, keepReply }, deps),
      );
    await upload?.discard(file, deps);
    return turn.earlier;
  } catch (error) {
    // After an unexpected error the file may be in use: upkeep removes it if not.
    if (error instanceof Refusal) await upload?.discard(file, deps);
    throw error;
  } finally {
    upload?.release(file);
  }
}

/** Bounds the elements before a schema checks each; `bodies.ts` has checked the nesting. */
function checkSize({ maxElements = MAX_ELEMENTS }: Route, fields: unknown): void {
  const message = shapeError(fields, { maxElements, maxNesting: Infinity });
  if (message !== null) refuseField('body', message);
}

async function readInput(
  route: Route,
  request: FastifyRequest,
  circumstances: Circumstances,
  deps: RouteDependencies,
): Promise<Omit<Form, 'fields'> & { fields: unknown }> {
  return request.isMultipart() ? readForm(request, route, circumstances, deps) : { fields: request.body ?? {} };
}

function circumstancesOf(request: FastifyRequest, reply: FastifyReply): Circumstances {
  const { ip: address, id: requestId, log, trackingTarget = null, headers } = request;
  const userToken = headers['x-user-token']?.toString();
  return {
    version: apiVersion(headers.accept),
    address,
    trackingTarget,
    userToken,
    isOfConsole: isOfConsole(request.method, headers),
    isHead: request.method === 'HEAD',
    requestId,
    log,
    verified: () => request.verified(),
    hungUp: () => hungUp(reply),
  };
}

/** Aborts when the connection closes early: Fastify's own signal also aborts once the body is read. */
function hungUp({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  if (raw.destroyed) gone.abort();
  else
    raw.once('close', () => {
      if (!raw.writableFinished) gone.abort();
    });
  return gone.signal;
}

/** Minimum read of a streamed answer in each `readerMs`: several times what kernel buffers drain at once. */
const LEAST_READ_BYTES = 1024 ** 2;

/** Sends an answer. Raw JSON numbers need the engine's own JSON.stringify. */
function send({ limits }: RouteDependencies, reply: FastifyReply, answered: unknown): FastifyReply {
  const { body, status, headers } = toReply(answered);
  if (body instanceof Readable)
    endSlowReader(reply.raw, body, { leastBytes: LEAST_READ_BYTES, withinMs: limits.readerMs });
  return reply
    .status(status)
    .headers({ 'cache-control': 'no-store', vary: 'Accept', ...headers })
    .send(body instanceof Readable || Buffer.isBuffer(body) ? unlessHead(reply, body) : JSON.stringify(body));
}

/** Drops the stream of a HEAD request, which Fastify would read to its end. */
function unlessHead({ request }: FastifyReply, body: Readable | Buffer): Readable | Buffer {
  if (request.method !== 'HEAD' || Buffer.isBuffer(body)) return body;
  body.destroy();
  return Readable.from([]);
}

/** Minimum bytes in each `withinMs` in which more is ready. */
type ReaderRate = { leastBytes: number; withinMs: number };

/** Breaks off an answer whose reader is slower: it holds memory and perhaps a place. */
function endSlowReader(response: ServerResponse, body: Readable, { leastBytes, withinMs }: ReaderRate): void {
  const { socket } = response;
  if (!socket) return;
  const taken = () => socket.bytesWritten - socket.writableLength;
  let before = taken();
  const timer = setInterval(() => {
    const isSlow = response.writableNeedDrain && taken() - before < leastBytes;
    before = taken();
    // Only a broken connection says that a begun answer is incomplete.
    if (isSlow) response.destroy();
  }, withinMs);
  response.once('close', () => {
    clearInterval(timer);
    body.destroy();
  });
}

const V3 = /^application\/vnd\.svc\.v3(\+json)?$/i;

/** Returns 3 if `Accept` names `application/vnd.svc.v3`; a wildcard never selects v3 (reference: Versioning). */
function apiVersion(accept: string | undefined): ApiVersion {
  return (accept ?? '').split(',').some((range) => V3.test(range.split(';')[0]!.trim())) ? 3 : 2;
}

/**
 * Refuses a name that is probably a misspelling: `user_id` for `user_ids` would list all people, and `dryrun` for
 * `dry_run` would import. Ignores other unknown names, members of the result in a body (callers send back what they
 * have read), and calls of SDKs and browsers, which send more than they must.
 */
function refuseMisspelt({ auth, result, ...operation }: Operation, part: 'query' | 'body', given: unknown): void {
  const schema = operation[part];
  if (
    auth === 'app_key' ||
    auth === 'none' ||
    !(schema instanceof z.ZodObject) ||
    typeof given !== 'object' ||
    given === null
  )
    return;
  const known = Object.keys(schema.shape);
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(schema.shape, name));
  if (unknown.length === 0) return;
  const shown = part === 'body' && result ? namesIn(result) : [];
  const misspelt = unknown
    .filter((name) => !shown.includes(name))
    .slice(0, MAX_COMPARED)
    .map((name) => ({ element: name, meant: misspeltName(name, known) }))
    .filter(({ meant }) => meant !== null);
  refuseFields(
    misspelt
      .slice(0, MAX_FAULTS)
      .map(({ element, meant }) => ({ element, message: `is unknown: did you mean ${meant}?` })),
  );
}

const MAX_COMPARED = 100;

function namesIn(schema: z.ZodType): string[] {
  if (schema instanceof z.ZodArray) return namesIn(schema.element as z.ZodType);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([name, member]) => [name, ...namesIn(member as z.ZodType)]);
}

type Form = { fields: Record<string, unknown>; file?: unknown };

/** Reads a form part by part, and its file as it comes. Removes the file if the form is refused. */
async function readForm(
  request: FastifyRequest,
  route: Route,
  circumstances: Circumstances,
  deps: RouteDependencies,
): Promise<Form> {
  const { upload, uploadPart } = route;
  const pairs: [string, unknown][] = [];
  let fieldBytes = 0;
  let maxFieldBytes =
    route.auth === 'token' ? deps.limits.bodyBytes : Math.min(deps.limits.bodyBytes, MAX_UNVERIFIED_BYTES);
  let file: unknown;
  try {
    for await (const part of request.parts()) {
      if (part.type === 'field') {
        // A part with a JSON content type has been parsed.
        const message = shapeError(part.value, { maxElements: MAX_ELEMENTS, maxNesting: deps.limits.nesting });
        if (message !== null) refuseField(part.fieldname, message);
        fieldBytes += Buffer.byteLength(typeof part.value === 'string' ? part.value : JSON.stringify(part.value));
        if (part.valueTruncated) refuseField(part.fieldname, 'is too long');
        if (fieldBytes > maxFieldBytes && maxFieldBytes < deps.limits.bodyBytes) {
          await verifyFields(route, valuesByName(pairs), deps);
          maxFieldBytes = deps.limits.bodyBytes;
        }
        if (fieldBytes > maxFieldBytes)
          refuse(413, 'payload_too_large', 'The fields of the form are too large together');
        pairs.push([part.fieldname, part.value]);
      } else if (!upload || part.fieldname !== uploadPart || file !== undefined) {
        part.file.destroy();
        refuseField(part.fieldname, upload ? `takes no file; send one file, as \`${uploadPart}\`` : 'takes no file');
      } else {
        const whose = { ...circumstances, caller: request.caller };
        file = await upload.receive(part.file, valuesByName(pairs), whose, deps).finally(() => part.file.destroy());
      }
    }
  } catch (error) {
    if (upload && file !== undefined) await upload.discard(file, deps).finally(() => upload.release(file));
    throw refusalOf(error);
  }
  return { fields: valuesByName(pairs), file };
}

const PARSER_REFUSALS: Record<string, Refusal> = {
  FST_MP_PREMATURE_CLOSE: new Refusal(400, 'bad_request', 'The request ended before its form did'),
  FST_PARTS_LIMIT: new Refusal(413, 'payload_too_large', 'The form has too many parts'),
  FST_FIELDS_LIMIT: new Refusal(413, 'payload_too_large', 'The form has too many parts'),
  FST_FILES_LIMIT: new Refusal(400, 'bad_request', 'The form has more than one file'),
  FST_PROTO_VIOLATION: new Refusal(400, 'bad_request', 'The form has a field of a name that is not allowed'),
  FST_INVALID_JSON_FIELD_ERROR: new Refusal(400, 'bad_request', 'The form has a field that says it is JSON and is not'),
};
/** Messages about a body that is no form, which have no code. */
const NO_FORM = /multipart|terminated early|boundary|malformed/i;

function refusalOf(error: unknown): unknown {
  if (error instanceof Refusal) return error;
  const { code, message = '' } = error as { code?: string; message?: string };
  if (code !== undefined) return PARSER_REFUSALS[code] ?? error;
  return NO_FORM.test(message) ? new Refusal(400, 'bad_request', 'The form is not valid multipart/form-data') : error;
}

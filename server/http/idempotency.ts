/**
 * `Idempotency-Key`: a POST that is repeated under its key gets the first reply and has no second effect.
 *
 * The key is taken before the route's `handle`, which keeps its reply in the transaction of its effect, so both exist
 * or neither. A refusal or an error frees the key.
 */
import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyBaseLogger } from 'fastify';
import { takesIdempotencyKey } from '../../api/core/operation.ts';
import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import type { Queryable } from '../../store/core/database.ts';
import {
  deleteUnanswered,
  type EarlierRequest,
  insertRequest,
  type KeptReply,
  type KeyHolder,
  updateReply,
} from '../../store/core/idempotent-requests.ts';
import type { RouteDependencies } from '../dependencies.ts';
import type { ApiVersion, KeepReply, Route } from './route.ts';
import type { Caller } from './caller.ts';
import { JSON_HEADERS, Reply, toReply } from './reply.ts';
import { findSorOfKey } from './sor-key.ts';

const HEADER = 'Idempotency-Key';
const PRINTABLE_ASCII = /^[ -~]{1,255}$/;

/** The content of a request; equal requests under one key are one request. */
type Asked = {
  route: Route;
  caller: Caller | undefined;
  version: ApiVersion;
  params: unknown;
  query: unknown;
  /** The fields in any order. */
  fields: unknown;
  /** Identifies the uploaded file; null without one. */
  content: string | null;
  /** The parsed input; it has the SoR's key if a SoR is the caller. */
  input: object;
  log: FastifyBaseLogger;
};

type Work = (keepReply: KeepReply) => Promise<unknown>;
type Turn = { earlier: Reply; run?: never } | { run(work: Work): Promise<unknown> };

/** Returns the key if the route uses it. Refuses all but 1 to 255 printable ASCII characters. */
export function idempotencyKey(
  route: Route,
  headers: Record<string, string | string[] | undefined>,
): string | undefined {
  const key = headers[HEADER.toLowerCase()]?.toString();
  if (key === undefined || !takesIdempotencyKey(route)) return undefined;
  return PRINTABLE_ASCII.test(key) ? key : refuseField(HEADER, 'must have 1 to 255 printable ASCII characters');
}

/** Takes the key. Refuses with 409 another request under it, and a repeat without a kept reply. */
export async function takeTurn(key: string | undefined, asked: Asked, deps: RouteDependencies): Promise<Turn> {
  if (key === undefined) return { run: (work) => work(async (_tx, result) => result) };
  const { entityId, scope } = await scopeOf(asked, deps);
  const {
    route: { method, path },
    version,
    params,
    query,
    fields,
    content,
  } = asked;
  const hash = (...parts: unknown[]) => deps.secrets.lookup(canonicalJson([HEADER, ...parts]));
  const holder: KeyHolder = { keyHash: hash(scope, method, path, key), holder: randomUUID() };
  const fingerprint = hash(version, params, query, fields, content);
  const earlier = await insertRequest(deps.db, entityId, { ...holder, fingerprint });
  if (earlier) return { earlier: replyAgain(earlier, fingerprint) };
  return { run: (work) => runAsHolder(work, deps, entityId, holder, asked) };
}

/** Returns the caller's own scope. Checks a SoR's key first, before it reveals anything. */
async function scopeOf(
  { caller, input }: Asked,
  deps: RouteDependencies,
): Promise<{ entityId: number; scope: unknown[] }> {
  if (caller) return { entityId: caller.entityId, scope: callerScope(caller) };
  const { sor_id, sor: shown = sor_id, api_key } = input as { sor_id: string; sor?: string; api_key: string };
  const sor = await findSorOfKey(deps, shown, api_key);
  return { entityId: sor.entityId, scope: ['sor', sor.id, api_key] };
}

function callerScope({ userId, serviceTokenId }: Caller): unknown[] {
  return serviceTokenId === null ? ['user', userId] : ['service_token', serviceTokenId];
}

function replyAgain({ fingerprint, reply }: EarlierRequest, asked: Buffer): Reply {
  if (!fingerprint.equals(asked)) {
    return refuse(409, 'conflict', `Another request came with this ${HEADER}: give each request a key of its own`);
  }
  if (!reply) {
    const message = `The first request with this ${HEADER} is still under way: try again in a moment`;
    return refuse(409, 'conflict', message, { retry_after: 1 });
  }
  if (reply.body === null) {
    const message = `The request with this ${HEADER} was done already; its reply holds secrets and was not kept`;
    return refuse(409, 'conflict', message, reply.identifier === null ? {} : { identifier: reply.identifier });
  }
  return new Reply(Buffer.from(reply.body), reply.status, { ...JSON_HEADERS, 'idempotency-replayed': 'true' });
}

async function runAsHolder(
  work: Work,
  { db }: RouteDependencies,
  entityId: number,
  holder: KeyHolder,
  { route, log }: Asked,
): Promise<unknown> {
  let isKept = false;
  const keepReply: KeepReply = async (tx, result, { secretOf } = {}) => {
    const reply = toReply(result);
    if (!isSuccess(reply)) return result;
    isKept = true;
    return (await updateReply(tx, entityId, holder, keptForm(reply, secretOf))) ? result : refuseLateHolder();
  };
  const freeKey = () =>
    deleteUnanswered(db, entityId, holder).catch((error: unknown) =>
      log.warn({ error: internalErrorOf(error) }, 'an Idempotency-Key stays taken until its lease ends'),
    );
  try {
    const answered = await work(keepReply);
    if (isKept) return answered;
    if (isSuccess(toReply(answered))) await keepAfterwards(keepReply, db, answered, { route, log });
    else await freeKey();
    return answered;
  } catch (error) {
    await freeKey(); // unless the reply was committed: then the work was done
    throw error;
  }
}

/** Keeps the reply of a handler that did not. After a kill just before this, a repeat has the effect twice. */
async function keepAfterwards(
  keepReply: KeepReply,
  db: Queryable,
  answered: unknown,
  { route, log }: Pick<Asked, 'route' | 'log'>,
): Promise<void> {
  log.error({ route: route.path }, 'a POST did not keep its reply in the transaction of its effect');
  await keepReply(db, answered).catch((error: unknown) => {
    log.error({ route: route.path, error: internalErrorOf(error) }, 'the reply of a POST was not kept');
  });
}

function isSuccess({ status }: Reply): boolean {
  return status >= 200 && status < 300;
}

/** Returns the reply to keep. Streamed replies are not kept, as secret ones. */
function keptForm({ status, body }: Reply, secretOf: string | undefined): KeptReply {
  const isText = !(body instanceof Readable) && !Buffer.isBuffer(body);
  const isShown = secretOf === undefined && isText;
  return { status, body: isShown ? JSON.stringify(body) : null, identifier: secretOf ?? null };
}

/** Refuses a request that outlived its lease: it rolls back, and a repeat does the work. */
function refuseLateHolder(): never {
  const message = `This took so long that a repeat with the same ${HEADER} took over: try again in a moment`;
  return refuse(409, 'conflict', message, { retry_after: 1 });
}

export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, member: unknown) => {
    if (typeof member !== 'object' || member === null || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}

/** Checks credentials in a body before the rest of it is received. */
import type { FastifyRequest, FastifyInstance, FastifyReply } from 'fastify';
import { Transform } from 'node:stream';
import type { Auth } from '../../api/core/operation.ts';
import { refuse, refuseField, Refusal } from '../../domain/core/refusal.ts';
import { sayNesting } from '../../domain/json/json-size.ts';
import { checkNesting, NestingError } from '../../domain/json/parse-json.ts';
import type { RouteDependencies } from '../dependencies.ts';
import type { Route } from './route.ts';
import { refuseKey } from './sor-key.ts';

/** Maximum bytes of a body, or of a form's fields, without valid credentials. */
export const MAX_UNVERIFIED_BYTES = 64 * 1024;
export const MAX_OPEN_BYTES = 16 * 1024;
/** Size up to which a body is parsed before its credentials are checked. */
const PARSED_AT_ONCE_BYTES = 8 * 1024;

const NAMES: Partial<Record<Auth, { id: readonly string[]; key: string; say: string }>> = {
  sor_key: { id: ['sor', 'sor_id'], key: 'api_key', say: 'the System of Record and api_key' },
  app_key: { id: [], key: 'writeKey', say: 'the write key as the user of Basic authentication, or writeKey' },
};
const MEMBER = /"(sor|sor_id|api_key|writeKey)"\s*:\s*("(?:[^"\\]|\\.)*")/g;
const FIELD = /(?:^|&)(sor|sor_id|api_key)=([^&]*)/g;

/** Size from which a SoR's body must have its key in its first 64 KiB: the rest costs memory. */
const MAX_KEYLESS_BYTES = 256 * 1024;

type BodyForm = 'json' | 'form';
type Dependencies = Pick<RouteDependencies, 'writeKeys' | 'feedIntake' | 'limits'>;

/** Refuses a body before it is parsed. Searches its first and last 64 KiB, where serialisers put credentials. */
export async function verifyBody(
  request: FastifyRequest,
  bytes: Buffer,
  form: BodyForm,
  deps: Dependencies,
): Promise<void> {
  const {
    ip: address,
    routeOptions: {
      config: { route },
    },
  } = request;
  const names = route && NAMES[route.auth];
  if (names === undefined || bytes.length <= PARSED_AT_ONCE_BYTES) return;
  const found = Map.groupBy(credentialsIn(bytes, form), ([name]) => name);
  const shown = (name: string) => firstAndLast((found.get(name) ?? []).map(([, value]) => value));
  const [ids, keys] = [names.id.flatMap(shown), shown(names.key)];
  const isMissing = keys.length === 0 || (names.id.length > 0 && ids.length === 0);
  if (isMissing && bytes.length > MAX_UNVERIFIED_BYTES) {
    if (form === 'json') refuseDeepHead(bytes, deps);
    return refuseLarge(`${names.say} within its first or last 64 KiB`);
  }
  await (names.id.length > 0 ? verifySorKeys(ids, keys, deps) : verifyWriteKeys(keys, address, deps));
  request.verified();
}

/** Checks a key in a body's first 64 KiB; without one 256 KiB may come. `verifyBody` compares the SoR at the end. */
function keyGate(
  {
    routeOptions: {
      config: { route },
    },
  }: FastifyRequest,
  form: BodyForm,
  deps: Dependencies,
): (chunk: Buffer) => Promise<void> {
  if (route?.auth !== 'sor_key') return async () => {};
  let [head, bytes, isKnown]: [Buffer[] | null, number, boolean] = [[], 0, false];
  return async (chunk) => {
    bytes += chunk.length;
    head?.push(chunk);
    if (isKnown || bytes < MAX_UNVERIFIED_BYTES) return;
    if (head) {
      const first = Buffer.concat(head);
      if (form === 'json') refuseDeepHead(first, deps);
      const keys = keysIn(first, form);
      head = null;
      isKnown = keys.length > 0;
      const found = await Promise.all(keys.map((apiKey) => deps.feedIntake.findSor({ identifier: null, apiKey })));
      if (isKnown && !found.some(Boolean)) refuseKey();
    }
    if (!isKnown && bytes > MAX_KEYLESS_BYTES) {
      refuse(413, 'payload_too_large', 'A body of more than 256 KiB needs api_key within its first 64 KiB');
    }
  };
}

function keysIn(bytes: Buffer, form: BodyForm): string[] {
  return firstAndLast(
    [...credentialsIn(bytes.subarray(0, MAX_UNVERIFIED_BYTES), form)].flatMap(([name, value]) =>
      name === 'api_key' ? [value] : [],
    ),
  );
}

export async function verifyFields(
  { auth }: Route,
  fields: Record<string, unknown>,
  deps: Dependencies,
): Promise<void> {
  const names = NAMES[auth];
  if (names === undefined) return refuse(413, 'payload_too_large', 'The fields of the form are too large together');
  const ids = names.id.map((name) => fields[name]).filter((value) => typeof value === 'string');
  const key = fields[names.key];
  if (typeof key !== 'string' || ids.length === 0) return refuseLarge(`${names.say} before other fields`);
  return verifySorKeys(ids, [key], deps);
}

async function verifySorKeys(ids: string[], keys: string[], { feedIntake }: Dependencies): Promise<void> {
  for (const apiKey of keys) {
    for (const identifier of ids) if (await feedIntake.findSor({ identifier, apiKey })) return;
  }
  refuseKey();
}

async function verifyWriteKeys(keys: string[], address: string, { writeKeys }: Dependencies): Promise<void> {
  for (const key of keys) if (await writeKeys.find(key, address)) return;
  refuse(401, 'unauthorized', 'Invalid or missing write key');
}

/** Refuses a body whose first 64 KiB nest too deep: no key would help. */
function refuseDeepHead(bytes: Buffer, { limits: { nesting } }: Dependencies): void {
  try {
    checkNesting(bytes.toString('latin1', 0, MAX_UNVERIFIED_BYTES), nesting);
  } catch (error) {
    if (!(error instanceof NestingError)) throw error;
    refuseField('body', sayNesting(nesting));
  }
}

function refuseLarge(say: string): never {
  refuse(413, 'payload_too_large', `A body of more than 64 KiB needs ${say}`);
}

export function writeKeysIn(bytes: Buffer): string[] {
  return firstAndLast(
    [...credentialsIn(bytes, 'json')].flatMap(([name, value]) => (name === 'writeKey' ? [value] : [])),
  );
}

function* credentialsIn(bytes: Buffer, form: BodyForm): Generator<[name: string, value: string]> {
  const beginsLast = Math.max(MAX_UNVERIFIED_BYTES, bytes.length - MAX_UNVERIFIED_BYTES);
  const ends = [bytes.subarray(0, MAX_UNVERIFIED_BYTES), bytes.subarray(beginsLast)];
  for (const end of ends) {
    for (const [, name, written] of end.toString('latin1').matchAll(form === 'json' ? MEMBER : FIELD)) {
      const value = form === 'json' ? unescaped(written!) : new URLSearchParams(`v=${written}`).get('v')!;
      if (value !== undefined && value !== '') yield [name!, value];
    }
  }
}

function unescaped(json: string): string | undefined {
  try {
    return JSON.parse(json) as string;
  } catch {
    return undefined;
  }
}

function firstAndLast(values: string[]): string[] {
  return [...new Set([values.at(0), values.at(-1)].filter((value) => value !== undefined))];
}

/** Size from which bodies count: below, all connections together take 80 MiB. */
const COUNTED_FROM_BYTES = 8 * 1024;

/** Bounds bodies until their credentials hold. They share one budget with uploads. */
export function boundUnverifiedBodies(app: FastifyInstance, deps: RouteDependencies): void {
  app.addHook('preParsing', async (request, reply, payload) => {
    const { 'content-length': length, 'content-type': type = '' } = request.headers;
    if (request.isVerified || Number(length) <= COUNTED_FROM_BYTES || type.startsWith('multipart/')) return payload;
    const admit = admitting(
      request,
      reply,
      deps,
      type.startsWith('application/x-www-form-urlencoded') ? 'form' : 'json',
    );
    const bounded = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        admit(chunk).then(
          () => done(null, chunk),
          (error: Error) => {
            payload.unpipe(bounded);
            payload.resume(); // drops the rest
            reply.header('connection', 'close');
            bounded.destroy(error);
          },
        );
      },
    });
    payload.once('error', (error: Error) => bounded.destroy(error));
    return payload.pipe(bounded);
  });
}

/** Counts pieces until credentials hold or the request ends. Refuses pieces beyond the budget. */
function admitting(
  request: FastifyRequest,
  reply: FastifyReply,
  deps: RouteDependencies,
  form: BodyForm,
): (chunk: Buffer) => Promise<void> {
  const { ip: address, verified } = request;
  const showsKey = keyGate(request, form, deps);
  let taken = 0;
  const giveBack = () => {
    deps.unverified.giveBack(address, taken);
    taken = 0;
  };
  request.verified = () => {
    verified.call(request);
    giveBack();
  };
  reply.raw.once('close', giveBack);
  return async (chunk) => {
    if (request.isVerified || reply.raw.closed) return;
    if (!deps.unverified.take(address, chunk.length)) {
      reply.header('retry-after', '1');
      throw new Refusal(
        429,
        'too_many_requests',
        'Too much waits for its credentials: try again, or send a smaller body',
      );
    }
    taken += chunk.length;
    await showsKey(chunk);
  };
}

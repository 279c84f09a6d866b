import { apiKeyError } from '../../domain/apps/api-key.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { type CallError, invalid, isObject } from '../../domain/tracking/call-fields.ts';
import type { TrackedContext } from '../../domain/tracking/call.ts';
import type { KeyedApp } from '../../store/apps/app-api-keys.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { findTrackingTarget, type TrackingTarget } from '../../store/tracking/tracking-target.ts';
import { KeyRates } from '../http/key-rates.ts';
import { networkOf } from '../http/network-of.ts';

/** A revoked key is refused after so long. */
const KNOWN_FOR_MS = 2_000;
/** Of keys that apps have, and of those that none has. */
const MAX_KNOWN = 10_000;
/** Requests a minute of one network that show a key which no app has. */
const MAX_UNKNOWN_PER_MINUTE = 60;

type Known = { target: TrackingTarget; at: number };

/** What write keys stand for, each looked up at most once in two seconds by this server. */
export class TrackingApps {
  readonly #db: Queryable;
  readonly #secrets: Secrets;
  readonly #unknownRates: KeyRates;
  readonly #known = new Map<string, Known>();
  readonly #unknown = new Map<string, number>();
  readonly #lookingUp = new Map<string, Promise<TrackingTarget | null>>();

  constructor(db: Queryable, secrets: Secrets, maxUnknownPerMinute = MAX_UNKNOWN_PER_MINUTE) {
    this.#db = db;
    this.#secrets = secrets;
    this.#unknownRates = new KeyRates(maxUnknownPerMinute);
  }

  /**
   * Null for a key that no app has, or that is revoked. Refuses with 429 an address that shows too many of these; a key
   * that an app had a while ago is looked up all the same.
   */
  async find(writeKey: string, address: string): Promise<TrackingTarget | null> {
    const known = this.#known.get(writeKey);
    if (known && isFresh(known.at)) return known.target;
    const network = networkOf(address);
    if (!known) this.#unknownRates.refuseBeyond(network);
    const target = await this.#findFresh(writeKey);
    if (target === null) this.#unknownRates.take(network);
    return target;
  }

  async #findFresh(writeKey: string): Promise<TrackingTarget | null> {
    // What can't be a key may be as long as a body: it is neither looked up nor remembered.
    if (apiKeyError(writeKey) !== undefined || isFresh(this.#unknown.get(writeKey))) return null;
    const under = this.#lookingUp.get(writeKey);
    if (under) return under;
    const looking = this.#lookUp(writeKey).finally(() => this.#lookingUp.delete(writeKey));
    this.#lookingUp.set(writeKey, looking);
    return looking;
  }

  async #lookUp(writeKey: string): Promise<TrackingTarget | null> {
    const at = performance.now();
    const target = await findTrackingTarget(this.#db, this.#secrets, writeKey);
    this.#known.delete(writeKey);
    if (target) remember(this.#known, writeKey, { target, at });
    else remember(this.#unknown, writeKey, at);
    return target;
  }
}

function isFresh(at: number | undefined): boolean {
  return at !== undefined && performance.now() - at < KNOWN_FOR_MS;
}

/** Forgets the one remembered longest ago where there are too many. */
function remember<V>(entries: Map<string, V>, key: string, value: V): void {
  entries.delete(key);
  if (entries.size >= MAX_KNOWN) entries.delete(entries.keys().next().value!);
  entries.set(key, value);
}

/**
 * Which of the apps that share a key a call is of: the one of its package name, else the only one of its platform. The
 * only app of a key has all of its calls.
 */
export function appOfCall(
  [first, ...others]: TrackingTarget['apps'],
  { appNamespace, platform }: TrackedContext,
): KeyedApp | CallError {
  if (others.length === 0) return first;
  const apps = [first, ...others];
  const named = apps.find(({ packageName }) => packageName === appNamespace);
  if (named) return named;
  const [only, another] = apps.filter(({ appType }) => appType === platform);
  if (only && !another) return only;
  const { message } = invalid(
    'context.app.namespace',
    `must be the package name of one of the ${apps.length} apps that share this key`,
  );
  return { code: 'unknown_app', message };
}

type Dependencies = { trackingApps: TrackingApps; keyRates: KeyRates };

/**
 * Where the requests of a write key go. Refuses a key that is unknown or revoked, and what is beyond its rate.
 */
export async function targetOfKey(
  { trackingApps, keyRates }: Dependencies,
  writeKey: string,
  address: string,
): Promise<TrackingTarget> {
  const target = await trackingApps.find(writeKey, address);
  if (target === null) return refuse(401, 'unauthorized', 'Invalid or missing write key');
  keyRates.take(writeKey);
  return target;
}

/**
 * Where a request's calls go: by the user of Basic authentication, known before the body is read, else by `writeKey` of
 * the body.
 */
export async function requireTarget(
  deps: Dependencies,
  { trackingTarget, address }: { trackingTarget: TrackingTarget | null; address: string },
  body: unknown,
): Promise<TrackingTarget> {
  if (trackingTarget) return trackingTarget;
  return targetOfKey(deps, isObject(body) && typeof body.writeKey === 'string' ? body.writeKey : '', address);
}

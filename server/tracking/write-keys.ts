/** Write keys: finds the apps and the entity to which a key leads. */

import { apiKeyError } from '../../domain/apps/api-key.ts';
import { isObject } from '../../domain/json/exact-json.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { Queryable } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { findTrackingTarget, type TrackingTarget } from '../../store/tracking/tracking-target.ts';
import { KeyRates } from '../http/key-rates.ts';
import { networkOf } from '../http/upload-budget.ts';

/** How long a key stays known; a revoked key is refused after this. */
const KNOWN_FOR_MS = 2_000;
const MAX_KNOWN = 10_000;
/** Maximum number of requests a minute from one network with unknown keys. */
const MAX_UNKNOWN_PER_MINUTE = 60;

type Known = { target: TrackingTarget; at: number };

/** Looks up each write key at most once in two seconds in this server. */
export class WriteKeys {
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

  /** Returns null for an unknown or revoked key. Refuses a network with too many, unless an app had it a while ago. */
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
    // Neither looks up nor remembers a malformed key, which may be as long as a body.
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

function remember<V>(entries: Map<string, V>, key: string, value: V): void {
  entries.delete(key);
  if (entries.size >= MAX_KNOWN) entries.delete(entries.keys().next().value!);
  entries.set(key, value);
}

type Dependencies = { writeKeys: WriteKeys; keyRates: KeyRates };

/** Returns a key's target. Refuses an unknown or revoked key, and requests beyond its rate. */
export async function targetOfKey(
  { writeKeys, keyRates }: Dependencies,
  writeKey: string,
  address: string,
): Promise<TrackingTarget> {
  const target = await writeKeys.find(writeKey, address);
  if (target === null) return refuse(401, 'unauthorized', 'Invalid or missing write key');
  keyRates.take(writeKey);
  return target;
}

/** Returns a request's target by its user of Basic authentication, known before the body, or by `writeKey` in it. */
export async function requireTarget(
  deps: Dependencies,
  { trackingTarget, address }: { trackingTarget: TrackingTarget | null; address: string },
  body: unknown,
): Promise<TrackingTarget> {
  if (trackingTarget) return trackingTarget;
  return targetOfKey(deps, isObject(body) && typeof body.writeKey === 'string' ? body.writeKey : '', address);
}

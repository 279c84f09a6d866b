import { apiKeyFault } from '../domain/api-key.ts';
import { invalid, type CallFault } from '../domain/call-fields.ts';
import type { TrackedContext } from '../domain/tracked-call.ts';
import type { KeyedApp } from '../store/app-api-keys.ts';
import type { Queryable } from '../store/database.ts';
import type { Secrets } from '../store/secrets.ts';
import { findTrackingTarget, type TrackingTarget } from '../store/tracking-target.ts';

/** So long what a key was found to be is taken for what it is: a revoked one is refused after it. */
const KNOWN_FOR_MS = 2_000;
const MOST_KNOWN = 10_000;

type Known = { target: Promise<TrackingTarget | null>; at: number };

/** What write keys stand for, each looked up at most once in two seconds by this server. */
export class TrackingApps {
  readonly #db: Queryable;
  readonly #secrets: Secrets;
  readonly #known = new Map<string, Known>();

  constructor(db: Queryable, secrets: Secrets) {
    this.#db = db;
    this.#secrets = secrets;
  }

  /** Null of a key that no app has, or that is revoked. */
  async find(writeKey: string): Promise<TrackingTarget | null> {
    // What can't be a key may be as long as a body: it is neither looked up nor remembered.
    if (apiKeyFault(writeKey) !== undefined) return null;
    const known = this.#known.get(writeKey);
    if (known && performance.now() - known.at < KNOWN_FOR_MS) return known.target;
    if (this.#known.size >= MOST_KNOWN) this.#known.clear();
    const target = findTrackingTarget(this.#db, this.#secrets, writeKey);
    this.#known.set(writeKey, { target, at: performance.now() });
    target.catch(() => this.#known.delete(writeKey));
    return target;
  }
}

/**
 * Which of the apps that share a key a call is of: the one of its package name, else the only one of its platform. The
 * only app of a key has all of its calls.
 */
export function appOfCall([first, ...others]: TrackingTarget['apps'], { appNamespace, platform }: TrackedContext): KeyedApp | CallFault {
  if (others.length === 0) return first;
  const apps = [first, ...others];
  const named = apps.find(({ packageName }) => packageName === appNamespace);
  if (named) return named;
  const [only, another] = apps.filter(({ appType }) => appType === platform);
  if (only && !another) return only;
  const { message } = invalid('context.app.namespace', `must be the package name of one of the ${apps.length} apps that share this key`);
  return { code: 'unknown_app', message };
}

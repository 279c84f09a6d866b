import { refuse } from '../../domain/core/refusal.ts';
import type { Queryable } from '../../store/core/database.ts';
import { findFeedInbox } from '../../store/feed/feed-requests.ts';

/** So long what was found in an inbox, and what this process has added since, is taken for what is there. */
const LOOK_EVERY_MS = 1_000;
const RETRY_SECONDS = 5;

/** What may wait in one entity's inbox: requests, and bytes of their values. */
type AdmissionLimits = { waitingRequests: number; waitingBytes: number };
type Known = { requests: number; bytes: number; at: number };

/**
 * Whether an entity's inbox has room. It is looked at once a second, so several servers together may take in somewhat
 * more than the limit; what has been accepted is never dropped.
 */
export class FeedAdmissionLimit {
  readonly #db: Queryable;
  readonly #limits: AdmissionLimits;
  readonly #known = new Map<number, Promise<Known>>();

  constructor(db: Queryable, limits: AdmissionLimits) {
    this.#db = db;
    this.#limits = limits;
  }

  /** Takes room for a request of so many bytes, or refuses with 429 and when to try again. */
  async take(entityId: number, bytes: number): Promise<void> {
    const known = await this.#look(entityId);
    if (known.requests >= this.#limits.waitingRequests || known.bytes >= this.#limits.waitingBytes) {
      const message = `Too much waits to be merged: try again in ${RETRY_SECONDS} seconds`;
      refuse(429, 'too_many_requests', message, { retry_after: RETRY_SECONDS });
    }
    known.requests += 1;
    known.bytes += bytes;
  }

  async #look(entityId: number): Promise<Known> {
    const before = this.#known.get(entityId);
    const known = await before;
    if (known && performance.now() - known.at < LOOK_EVERY_MS) return known;
    // Another request may be looking already.
    if (this.#known.get(entityId) !== before) return this.#look(entityId);
    const looking = findFeedInbox(this.#db, entityId).then((found) => ({ ...found, at: performance.now() }));
    this.#known.set(entityId, looking);
    looking.catch(() => this.#known.delete(entityId));
    return looking;
  }
}

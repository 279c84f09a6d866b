/** Bounds the requests that wait in an entity's inbox. */
import type { Queryable } from '../../store/core/database.ts';
import { findFeedInbox } from '../../store/feed/feed-requests.ts';

/** How often an inbox is measured; in between this process adds what it accepts. */
const LOOK_EVERY_MS = 1_000;

/** Maximum requests in one entity's inbox, and bytes of their values. */
type InboxLimits = { waitingRequests: number; waitingBytes: number };
type Known = { requests: number; bytes: number; at: number };

/**
 * Bounds an entity's inbox. It is measured once a second, so several servers together may accept somewhat more;
 * accepted requests are never dropped.
 */
export class FeedInboxBudget {
  readonly #db: Queryable;
  readonly #limits: InboxLimits;
  readonly #known = new Map<number, Promise<Known>>();

  constructor(db: Queryable, limits: InboxLimits) {
    this.#db = db;
    this.#limits = limits;
  }

  /** Counts a request of this size; returns false if the inbox is full. */
  async take(entityId: number, bytes: number): Promise<boolean> {
    const known = await this.#look(entityId);
    if (known.requests >= this.#limits.waitingRequests || known.bytes >= this.#limits.waitingBytes) return false;
    known.requests += 1;
    known.bytes += bytes;
    return true;
  }

  async #look(entityId: number): Promise<Known> {
    const before = this.#known.get(entityId);
    const known = await before;
    if (known && performance.now() - known.at < LOOK_EVERY_MS) return known;
    // Another request may be measuring already.
    if (this.#known.get(entityId) !== before) return this.#look(entityId);
    const looking = findFeedInbox(this.#db, entityId).then((found) => ({ ...found, at: performance.now() }));
    this.#known.set(entityId, looking);
    looking.catch(() => this.#known.delete(entityId));
    return looking;
  }
}

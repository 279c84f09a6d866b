/** Bounds the requests that wait in an entity's inbox. */
import type { Queryable } from '../../store/core/database.ts';
import { findFeedInbox } from '../../store/feed/feed-requests.ts';

const LOOK_EVERY_MS = 1_000;

type InboxLimits = { waitingRequests: number; waitingBytes: number };
type Known = { requests: number; bytes: number; at: number };

/** Bounds an inbox by a measurement each second: several servers may accept more, and drop no accepted request. */
export class FeedInboxBudget {
  readonly #db: Queryable;
  readonly #limits: InboxLimits;
  readonly #known = new Map<number, Promise<Known>>();

  constructor(db: Queryable, limits: InboxLimits) {
    this.#db = db;
    this.#limits = limits;
  }

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

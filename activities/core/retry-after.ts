/** A step's request to be retried, and when. */
export type RetryAfter = { againInMs: number };

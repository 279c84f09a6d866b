/** A step's answer that it wants to be tried again, and when. */
export type RetryAfter = { againInMs: number };

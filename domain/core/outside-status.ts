/** HTTP status of a route for each failure outside: 4xx if something must change first, 5xx if a retry may succeed. */
export const OUTSIDE_STATUSES = {
  /** Refused by the guard: only another address, or the operator's allowance, helps. */
  address_refused: 403,
  /** Refused by the source: the same request fails again. */
  source_refused: 400,
  /** May succeed later; `retry_after` in seconds if the source gave a time. */
  source_unavailable: 503,
  transfer_broken: 502,
  source_changed: 409,
  too_large: 413,
} as const;

export type OutsideStatus = keyof typeof OUTSIDE_STATUSES;

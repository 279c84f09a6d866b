/**
 * Makes joins use the index of the primary key until the transaction ends. The planner's statistics may be old, and a
 * table that was empty would be scanned for every row.
 */
export const LOOK_UP_BY_KEY = ['hashjoin', 'mergejoin', 'seqscan', 'bitmapscan']
  .map((way) => `SET LOCAL enable_${way} = off`)
  .join(';');

/** Makes joins use the primary key until the transaction ends, whatever old statistics say. */
export const LOOK_UP_BY_KEY = ['hashjoin', 'mergejoin', 'seqscan', 'bitmapscan']
  .map((way) => `SET LOCAL enable_${way} = off`)
  .join(';');

/**
 * Until the transaction ends, a join looks each of its rows up in the index of the other side's primary key. What the
 * planner knows of a table may be of any age, and of a table that was empty it reads all pages once for every row,
 * also those that others are just filling.
 */
export const LOOK_UP_BY_KEY = ['hashjoin', 'mergejoin', 'seqscan', 'bitmapscan']
  .map((way) => `SET LOCAL enable_${way} = off`)
  .join(';');

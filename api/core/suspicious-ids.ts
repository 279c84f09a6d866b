/** The end of what the contract says of `suspicious_ids`. */
export const SUSPICIOUS =
  'although their customer id hardly is one: a word for nothing (undefined, null, [object Object], unknown, NaN), ' +
  'or a number that a table has changed (12345.0)';

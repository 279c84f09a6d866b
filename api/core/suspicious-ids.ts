/** The end of each description of `suspicious_ids`. */
export const SUSPICIOUS =
  'although their customer id is probably a mistake: a word for a missing value (undefined, null, [object Object], unknown, NaN), ' +
  'or a number that a table has changed (12345.0)';

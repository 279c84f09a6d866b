/** How many changes of a segment's people are kept, and how long. */

/** Maximum number of people of a segment and day that are listed as joined or left; more are counted only. */
export const MAX_LISTED_CHANGES = 10_000;

/** How long people stay listed as joined or left. */
export const CHANGES_KEPT_DAYS = 30;

/** How long the counts of a day are kept. */
export const SEGMENT_DAYS_KEPT = 400;

/** Where a page of a list by time ends: microseconds since 1970, and the id among those of one time. */
export type ListCursor = { micros: number; id: number };

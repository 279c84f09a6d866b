/** The end of a page of a list ordered by time: microseconds since 1970, and the id among entries of one time. */
export type ListCursor = { micros: number; id: number };

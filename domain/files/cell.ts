/** A field of a file's row; null is empty. */
export type Cell = string | number | boolean | null;

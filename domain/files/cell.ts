/** What stands in one field of a file's row; null: nothing. */
export type Cell = string | number | boolean | null;

import type { Queryable } from './database.ts';

/** A part of a list, and the number of entries in the whole list. */
export type Page<T> = { items: T[]; total: number };

export type PageRange = { offset: number; limit: number };

/** Counts the rows of a FROM clause with its condition. */
export async function countRows(db: Queryable, from: string, values: readonly unknown[]): Promise<number> {
  const { rows } = await db.query<{ count: number }>(`SELECT count(*) ${from}`, [...values]);
  return rows[0]!.count;
}

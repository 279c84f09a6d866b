import { z } from 'zod';
import type { ListCursor } from '../../domain/core/list-cursor.ts';
import { pageNumber } from './input.ts';

/** Pages of lists (reference: Conventions, 6). */

const MAX_ROWS = 10_000;

export const pageQuery = {
  page: pageNumber({ min: 1, max: 1_000_000, otherwise: 1 }),
  per_page: pageNumber({ min: 1, max: MAX_ROWS, otherwise: 1_000 }),
};

export type PageQuery = { page: number; per_page: number };

const link = z.string().nullable().describe('Address of the page; null if there is none');
const PageLinks = z.object({ first: link, prev: link, next: link, last: link }).meta({ id: 'PageLinks' });

export function pageOf<R extends z.ZodType>(item: R) {
  return z.object({
    items: z.array(item),
    item_count: z.int().describe('Number of items on this page'),
    total_items: z.int().describe('Number of items on all pages'),
    total_pages: z.int(),
    navigation: PageLinks,
  });
}

export function writeListCursor({ micros, id }: ListCursor): string {
  return Buffer.from(`${micros}.${id}`).toString('base64url');
}

export const listCursor = z.string().transform((value, ctx): ListCursor => {
  const [, micros, id] = /^(\d{1,16})\.(\d{1,15})$/.exec(Buffer.from(value, 'base64url').toString()) ?? [];
  if (micros !== undefined) return { micros: Number(micros), id: Number(id) };
  ctx.issues.push({ code: 'custom', message: 'is not a cursor from `next`', input: value });
  return z.NEVER;
});

/** Writes the members of a position as a cursor. */
export function writePositionCursor(members: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify(members)).toString('base64url');
}

/** Returns the members of such a cursor; null if `members` does not take them. */
export function readPositionCursor<T>(members: z.ZodType<T>, cursor: string): T | null {
  try {
    return members.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString()));
  } catch {
    return null;
  }
}

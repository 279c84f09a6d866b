import { z } from 'zod';
import type { ServerSettings } from '../dependencies.ts';
import { pageNumber } from './input.ts';

/** Pages of lists (reference: Conventions, 6). */

const MAX_ROWS = 10_000;

export const pageQuery = {
  page: pageNumber({ min: 1, max: 1_000_000, otherwise: 1 }),
  per_page: pageNumber({ min: 1, max: MAX_ROWS, otherwise: 1_000 }),
};

export type PageQuery = { page: number; per_page: number };

const link = z.string().nullable();

export function pageOf<R extends z.ZodType>(item: R) {
  return z.object({
    items: z.array(item),
    item_count: z.int(),
    total_items: z.int(),
    total_pages: z.int(),
    navigation: z.object({ first: link, prev: link, next: link, last: link }),
  });
}

/** The rows that a page stands for. */
export function rowsOf({ page, per_page }: PageQuery): { offset: number; limit: number } {
  return { offset: (page - 1) * per_page, limit: per_page };
}

/** A page of a list at `path`, which holds its filters; links are null where there is no such page. */
export function showPage<T>({ publicUrl }: ServerSettings, path: string, { page, per_page }: PageQuery, total: number, items: T[]) {
  const pages = Math.ceil(total / per_page);
  const list = `${publicUrl}${path}${path.includes('?') ? '&' : '?'}`;
  const to = (number: number) => (number >= 1 && number <= pages ? `${list}page=${number}&per_page=${per_page}` : null);
  return {
    items,
    item_count: items.length,
    total_items: total,
    total_pages: pages,
    navigation: { first: to(1), prev: to(page - 1), next: to(page + 1), last: to(pages) },
  };
}

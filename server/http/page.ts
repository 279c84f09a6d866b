import type { PageQuery } from '../../api/core/page.ts';
import type { ServerSettings } from '../dependencies.ts';

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

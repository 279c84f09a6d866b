/** Pages of lists: by page number, or by cursor. */
import { type PageQuery, writeListCursor } from '../../api/core/page.ts';
import type { ListCursor } from '../../domain/core/list-cursor.ts';
import type { ServerSettings } from '../dependencies.ts';

export function rowsOf({ page, per_page }: PageQuery): { offset: number; limit: number } {
  return { offset: (page - 1) * per_page, limit: per_page };
}

/** Returns a page of the list at `path`, which contains its filters. */
export function showPage<T>(settings: ServerSettings, path: string, query: PageQuery, total: number, items: T[]) {
  return {
    items,
    ...pageSummary(settings, path, { page: query.page, per_page: query.per_page }, { count: items.length, total }),
  };
}

export function pageSummary(
  settings: ServerSettings,
  path: string,
  query: PageQuery & Record<string, unknown>,
  { count, total, cursor }: { count: number; total: number; cursor?: string | null },
) {
  const navigation = pageLinks(settings, path, query, total, cursor);
  return { item_count: count, total_items: total, total_pages: Math.ceil(total / query.per_page), navigation };
}

/** Returns addresses with the same filters. `cursor`: where the next page begins, at the cost of the first. */
function pageLinks(
  { publicUrl }: ServerSettings,
  path: string,
  { page, per_page: perPage, cursor: _, ...filters }: PageQuery & Record<string, unknown>,
  total: number,
  cursor?: string | null,
) {
  const pages = Math.ceil(total / perPage);
  const list = new URL(`${publicUrl}${path}`);
  for (const [name, value] of Object.entries(filters))
    if (value !== undefined) list.searchParams.set(name, shownFilter(value));
  const to = (number: number, more: Record<string, string> = {}) => {
    const address = new URL(list);
    for (const [name, value] of Object.entries({ page: number, per_page: perPage, ...more }))
      address.searchParams.set(name, String(value));
    return address.href;
  };
  const orNone = (number: number) => (number >= 1 && number <= pages ? to(number) : null);
  return {
    first: orNone(1),
    prev: orNone(page - 1),
    next: typeof cursor === 'string' ? to(page + 1, { cursor }) : cursor === null ? null : orNone(page + 1),
    last: orNone(pages),
  };
}

/** Returns the page and the next one's address. `found` has one row more if there is one. */
export function cursorPage<T extends ListCursor>(
  { publicUrl }: ServerSettings,
  path: string,
  { cursor: _, ...query }: { per_page: number; cursor?: unknown } & Record<string, unknown>,
  found: readonly T[],
): { rows: T[]; next: string | null } {
  const rows = found.slice(0, query.per_page);
  if (rows.length === found.length) return { rows, next: null };
  const next = new URL(`${publicUrl}${path}`);
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) next.searchParams.set(name, shownFilter(value));
  next.searchParams.set('cursor', writeListCursor(rows.at(-1)!));
  return { rows, next: next.href };
}

function shownFilter(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value);
}

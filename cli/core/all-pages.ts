import { call, type Server } from './client.ts';

/** The items of a list, over all of its pages; `path` may have a query. */
export async function allPages<T>(server: Server, path: string): Promise<T[]> {
  const items: T[] = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const one = `${path}${path.includes('?') ? '&' : '?'}page=${page}`;
    const { items: more, total_pages: total } = await call<{ items: T[]; total_pages: number }>(server, 'GET', one);
    items.push(...more);
    pages = total;
  }
  return items;
}

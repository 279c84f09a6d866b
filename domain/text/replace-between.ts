/** Returns a page with new content between two of its lines, which stay. */
export function replaceBetween(page: string, [start, end]: readonly [string, string], content: string): string {
  const [from, to] = [page.indexOf(start), page.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`the page has nothing between ${start} and ${end}`);
  return `${page.slice(0, from + start.length)}\n\n${content}\n\n${page.slice(to)}`;
}

/** Reads an API page after page, each while the one before it is worked on. */
import type { Refusal } from '../../domain/core/refusal.ts';
import { TooLargeAnswer } from './json-requests.ts';
import { sourceRefusal } from './source-refusal.ts';

/** Refuses a page that does not lead on: reading from it would skip records, or never end. */
export const stuckPage = (host: string): Refusal =>
  sourceRefusal('source_unavailable', `${host} answered with a page that does not lead to the next one`);

/**
 * Yields pages from `start` on (null: none), of at most `most` records. `read` returns a page with the place `after`
 * it, null behind the last. A page that is too large is read anew as smaller ones, and so are those after it.
 */
export async function* pagesAhead<From, Page extends { after: From | null }>(
  start: From | null,
  most: number,
  read: (from: From, limit: number) => Promise<Page>,
): AsyncGenerator<Page> {
  let limit = most;
  const page = async (from: From): Promise<Page> => {
    for (;;) {
      try {
        return await read(from, limit);
      } catch (error) {
        if (!(error instanceof TooLargeAnswer) || limit === 1) throw error;
        limit = Math.ceil(limit / 2);
      }
    }
  };
  let coming = start === null ? null : page(start);
  try {
    while (coming !== null) {
      const found: Page = await coming;
      coming = found.after === null ? null : page(found.after);
      coming?.catch(() => {}); // thrown where it is awaited
      yield found;
    }
  } finally {
    await coming?.catch(() => {});
  }
}

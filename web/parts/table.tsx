/** A table of records; below 720 pixels each row is a card. */
import type { ReactNode } from 'react';
import type { Refusal } from '../session/api.ts';
import { Icon } from './icon.tsx';
import { Skeleton, Unread } from './panel.tsx';
import { Refused } from './refusal.tsx';

/** Sorting by a press on a heading; `isOn`: the rows are in its order. */
type Sort = { isOn: boolean; direction: 'ascending' | 'descending'; onPress: () => void };
export type Column<T> = { title: string; isNumber?: boolean; sort?: Sort; cell: (row: T) => ReactNode };

type More = {
  error: Refusal | null;
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  /** True: the next page was refused, and not the list itself. */
  isFetchNextPageError?: boolean;
  isPending: boolean;
  dataUpdatedAt: number;
  fetchNextPage: () => unknown;
  refetch: () => unknown;
};

export function DataTable<T>({
  caption,
  columns,
  rows,
  keyOf,
  empty,
  more,
  pageSize = 100,
}: {
  /** Says what the rows are, for those who don't see the heading. */
  caption: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  keyOf: (row: T) => string;
  empty: ReactNode;
  more?: More;
  /** Number of rows that the next page adds. */
  pageSize?: number;
}) {
  if (more?.isPending) return <Skeleton rows={5} />;
  if (rows.length === 0 && !more?.error) return empty;
  return (
    <>
      {more && <UnreadList more={more} />}
      {rows.length > 0 && (
        <div className="scroll" tabIndex={0} role="region" aria-label={caption}>
          <table className="cards">
            <caption className="sr">{caption}</caption>
            <thead>
              <tr>
                {columns.map(({ title, isNumber, sort }) => (
                  <th
                    key={title}
                    scope="col"
                    className={isNumber ? 'num' : undefined}
                    aria-sort={sort?.isOn ? sort.direction : undefined}
                  >
                    {sort ? (
                      <button type="button" className="sort" onClick={sort.onPress}>
                        {title}
                        {sort.isOn && <Icon name={sort.direction === 'ascending' ? 'up' : 'down'} />}
                      </button>
                    ) : (
                      title
                    )}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={keyOf(row)}>
                  {columns.map(({ title, isNumber, cell }) => (
                    <td key={title} data-label={title} className={isNumber ? 'num' : undefined}>
                      <span>{cell(row)}</span>
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {more && <NextPage more={more}>Next {pageSize}</NextPage>}
    </>
  );
}

/** Begins a list that is read page after page: says why it was not read, or not again. */
export function UnreadList({
  more,
}: {
  more: Pick<More, 'error' | 'isFetchNextPageError' | 'dataUpdatedAt' | 'refetch'>;
}) {
  return more.error && !more.isFetchNextPageError && <Unread {...more} refusal={more.error} />;
}

/** Ends a list that is read page after page: reads the next page, or says why that was refused. */
export function NextPage({ more, children = 'Next 100' }: { more: More; children?: ReactNode }) {
  return (
    <>
      {more.error && more.isFetchNextPageError && (
        <Refused refusal={more.error} retry={() => void more.fetchNextPage()} />
      )}
      {more.hasNextPage && (
        <footer>
          <button
            type="button"
            className="btn plain"
            disabled={more.isFetchingNextPage}
            onClick={() => void more.fetchNextPage()}
          >
            {more.isFetchingNextPage ? 'Reading' : children}
          </button>
        </footer>
      )}
    </>
  );
}

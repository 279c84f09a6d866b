/** Requests of the JSON feed, newest first. */
import { Link } from '@tanstack/react-router';
import type { FeedRequest } from '../../../api/client.ts';
import { Chip } from '../../parts/head.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import { Count, When } from '../../parts/values.tsx';
import { useList } from '../../session/calls.ts';

export function FeedList({
  sor,
  hasErrors,
  onErrors,
}: {
  sor: string | undefined;
  hasErrors: boolean;
  onErrors: (hasErrors: boolean) => void;
}) {
  const list = useList(
    'listFeedRequests',
    { query: { ...(hasErrors ? { with_errors: 'true' } : {}), ...(sor === undefined ? {} : { sor_id: sor }) } },
    { pollWhile: ({ feed_requests: requests }) => requests.some(({ state }) => state === 'accepted') },
  );
  const rows = list.data?.pages.flatMap(({ feed_requests: requests }) => requests) ?? [];
  return (
    <Panel
      title="Feed requests, newest first"
      end={
        <Toggles
          label="Outcome"
          choices={[
            { value: 'all', title: 'All' },
            { value: 'errors', title: 'With refused values' },
          ]}
          value={hasErrors ? 'errors' : 'all'}
          onChange={(shown) => onErrors(shown === 'errors')}
        />
      }
    >
      <DataTable
        caption="Feed requests"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ request_id: id }) => id}
        more={list}
        empty={
          hasErrors || sor !== undefined ? (
            <Empty says="No request of the last week fits these filters." />
          ) : (
            <Empty
              says="No feed request yet. A system sends values as JSON with the key of a System of Records."
              action={<a href="/manual/feed.md">The JSON feed in the manual</a>}
            />
          )
        }
      />
    </Panel>
  );
}

export function FeedState({ state, stage, values }: Pick<FeedRequest, 'state' | 'stage' | 'values'>) {
  if (state === 'accepted') return <Chip tone="info">{stage ?? 'Accepted'}</Chip>;
  const refused = values.ignored + values.failed;
  return refused === 0 ? <Chip tone="ok">Finished</Chip> : <Chip tone="warn">Finished, {refused} refused</Chip>;
}

const COLUMNS: readonly Column<FeedRequest>[] = [
  {
    title: 'Request',
    cell: ({ request_id: id }) => (
      <Link className="mono" to={`/feeds/${id}`}>
        {id}
      </Link>
    ),
  },
  { title: 'Into', cell: ({ sor }) => sor?.name ?? 'deleted' },
  { title: 'State', cell: (request) => <FeedState {...request} /> },
  { title: 'Values', isNumber: true, cell: ({ values }) => <Count value={values.in} /> },
  { title: 'Ok', isNumber: true, cell: ({ values }) => <Count value={values.ok} /> },
  { title: 'Ignored', isNumber: true, cell: ({ values }) => <Count value={values.ignored} /> },
  { title: 'Failed', isNumber: true, cell: ({ values }) => <Count value={values.failed} /> },
  { title: 'Received', cell: ({ received_at: at }) => <When at={at} /> },
];

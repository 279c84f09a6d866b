/** The list of what came in: imports and requests of the JSON feed, with their counts. */
import { Link } from '@tanstack/react-router';
import type { ImportSummary } from '../../../api/client.ts';
import { AsCommand } from '../../parts/as-command.tsx';
import { FilterToggles } from '../../parts/filter-toggles.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Head } from '../../parts/head.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { Toggles } from '../../parts/toggles.tsx';
import { bytesText, Count, When } from '../../parts/values.tsx';
import { useList, useRead } from '../../session/calls.ts';
import { FeedList } from '../feed/feed-list.tsx';
import { ImportDays } from './import-days.tsx';
import { fileName, hasEnded, ImportState } from './import-state.tsx';

const LISTS = [
  { value: 'imports', title: 'Imports' },
  { value: 'feeds', title: 'Feed requests' },
] as const;

const FILTERS = {
  all: {},
  open: { open: 'true' },
  running: { state: 'running' },
  failed: { state: 'failed' },
} as const;
type Filter = keyof typeof FILTERS;

const FILTER_CHOICES: { value: Filter; title: string }[] = [
  { value: 'all', title: 'All' },
  { value: 'open', title: 'With open rows' },
  { value: 'running', title: 'Running' },
  { value: 'failed', title: 'Failed' },
];

export function ImportList() {
  const [filters, change] = useFilters();
  const isFeeds = filters['list'] === 'feeds';
  const show = FILTER_CHOICES.find(({ value }) => value === filters['show'])?.value ?? 'all';
  return (
    <>
      <Head
        title="Imports"
        actions={
          <Link className="btn main" to="/imports/new">
            <Icon name="plus" />
            New import
          </Link>
        }
        facts={<span>Files and feed requests of the last week.</span>}
      />
      <div className="controls">
        <Toggles
          label="List"
          choices={LISTS}
          value={isFeeds ? 'feeds' : 'imports'}
          onChange={(list) => change({ list: list === 'imports' ? undefined : list, show: undefined })}
        />
        <SorFilter value={filters['sor']} onChange={(sor) => change({ sor })} />
        {!isFeeds && <FilterToggles name="show" label="State" options={FILTER_CHOICES} value={show} />}
      </div>
      {isFeeds ? (
        <FeedList
          sor={filters['sor']}
          hasErrors={filters['show'] === 'errors'}
          onErrors={(shown) => change({ show: shown ? 'errors' : undefined })}
        />
      ) : (
        <>
          <ImportDays sor={filters['sor']} />
          <Imports sor={filters['sor']} show={show} />
        </>
      )}
      <AsCommand
        operation={isFeeds ? 'listFeedRequests' : 'listImportSummaries'}
        manual={isFeeds ? 'feed' : 'imports'}
        cli={[isFeeds ? 'millrace feeds list' : 'millrace imports list']}
      />
    </>
  );
}

function SorFilter({ value = '', onChange }: { value: string | undefined; onChange: (sor?: string) => void }) {
  const sors = useRead('listSystemsOfRecords', { query: { secrets: 'false' } });
  return (
    <label className="pick">
      <span className="sr">System of Records</span>
      <select
        value={value}
        data-filter
        onChange={({ target }) => onChange(target.value === '' ? undefined : target.value)}
      >
        <option value="">All Systems of Records</option>
        {sors.data?.map(({ identifier, name }) => (
          <option key={identifier} value={identifier}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function Imports({ sor, show }: { sor: string | undefined; show: Filter }) {
  const list = useList(
    'listImportSummaries',
    { query: { ...FILTERS[show], ...(sor === undefined ? {} : { sor_id: sor }) } },
    { pollWhile: ({ imports }) => imports.some((job) => !hasEnded(job)) },
  );
  const rows = list.data?.pages.flatMap(({ imports }) => imports) ?? [];
  const isFiltered = show !== 'all' || sor !== undefined;
  return (
    <Panel title="Imports, newest first">
      <DataTable
        caption="Imports"
        columns={COLUMNS}
        rows={rows}
        keyOf={({ import_id: id }) => id}
        more={list}
        empty={
          isFiltered ? (
            <Empty says="No import of the last week fits these filters." />
          ) : (
            <Empty
              says="No import yet. The first takes a minute: choose a System of Records, download its template, fill it in."
              action={
                <Link className="btn main" to="/imports/new">
                  New import
                </Link>
              }
              command="millrace import values.csv --sor SOR"
            />
          )
        }
      />
    </Panel>
  );
}

const COLUMNS: readonly Column<ImportSummary>[] = [
  {
    title: 'Import',
    cell: ({ import_id: id }) => (
      <Link className="mono" to={`/imports/${id}`}>
        {id}
      </Link>
    ),
  },
  { title: 'File', cell: (job) => sourceText(job) },
  { title: 'Into', cell: ({ sor }) => sor?.name ?? 'deleted' },
  {
    title: 'State',
    cell: (job) => (
      <span className="chips">
        <ImportState job={job} />
      </span>
    ),
  },
  { title: 'Rows', isNumber: true, cell: ({ rows }) => <Count value={rows.read} /> },
  { title: 'Ok', isNumber: true, cell: ({ rows }) => <Count value={rows.ok} /> },
  { title: 'Ignored', isNumber: true, cell: ({ rows }) => <Count value={rows.ignored} /> },
  { title: 'Failed', isNumber: true, cell: ({ rows }) => <Count value={rows.failed} /> },
  { title: 'Received', cell: ({ received_at: at }) => <When at={at} /> },
];

function sourceText({ source: { url, bytes }, is_redrive: isRedrive }: ImportSummary): string {
  const name = isRedrive ? 'corrected rows' : (fileName(url) ?? 'upload');
  return bytes === null ? name : `${name}, ${bytesText(bytes)}`;
}

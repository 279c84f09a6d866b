/** The records that a run did not write: by type, page by page, each look audited. */
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import type { SyncError, SyncRun } from '../../../api/client.ts';
import { countRefused } from '../../../domain/syncs/refused-records.ts';
import type { ResultOf } from '../../session/calls.ts';
import { Audited } from '../../parts/audited.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { PersonLink } from '../../parts/person-link.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { FilterToggles } from '../../parts/filter-toggles.tsx';
import { Count, countText } from '../../parts/values.tsx';
import { useRead } from '../../session/calls.ts';
import { operationOf } from '../../session/api.ts';

type RunParams = { sync_id: string; run_id: string };
type ErrorType = ResultOf<'listSyncErrors'>['errors'][number]['error_type'];

const PER_PAGE = 100;

const COLUMNS: readonly Column<SyncError>[] = [
  { title: 'Record', isNumber: true, cell: ({ line }) => <Count value={line} /> },
  {
    title: 'Person',
    cell: ({ customer_id: id }) => (id === null ? <span className="quiet">–</span> : <PersonLink id={id} />),
  },
  {
    title: 'Field',
    cell: ({ key }) => (key === null ? <span className="quiet">–</span> : <code className="whole">{key}</code>),
  },
  {
    title: 'Problem',
    cell: ({ message, error_type, outcome, redriven_by }) => (
      <div className="tight problem">
        <span>{message}</span>
        <span className="small quiet">
          {error_type}, {outcome}
          {redriven_by !== null && `, settled by ${redriven_by}`}
        </span>
      </div>
    ),
  },
  { title: 'Record as it was read', cell: ({ record }) => <RecordText record={record} /> },
];

function RecordText({ record }: { record: string | null }) {
  if (record === null) return <span className="quiet">erased person</span>;
  return (
    <details className="record">
      <summary>
        <code>{record}</code>
      </summary>
      <pre className="cmd">{record}</pre>
    </details>
  );
}

export function RunErrors({ run, params }: { run: SyncRun; params: RunParams }) {
  const { type = 'all', show = 'open' } = useSearch({ strict: false });
  const count = countRefused({ ...run.records, deletionsIgnored: run.deletions_ignored });
  const types = Object.entries(run.errors_by_type).filter(([, of]) => of > 0);
  if (count === 0 && types.length === 0) {
    return (
      <Panel title="Records that failed">
        <Empty says={run.ended_at === null ? 'None so far.' : 'None: each record was written, or was there already.'} />
      </Panel>
    );
  }
  const [errorType] = types.map(([name]) => name as ErrorType).filter((name) => name === type);
  return (
    <Panel title={`Records that failed or were ignored: ${countText(count)}`} end={<FileLink params={params} />}>
      <div className="body">
        <FilterToggles
          name="type"
          label="Type of the problem"
          value={errorType ?? 'all'}
          options={[{ value: 'all', count }, ...types.map(([value, of]) => ({ value, count: of }))]}
        />
        <FilterToggles
          name="show"
          label="Settled ones, too"
          value={show}
          options={[
            { value: 'open', title: 'Open', ...(run.open === null ? {} : { count: run.open }) },
            { value: 'settled', title: 'With those that are settled' },
          ]}
        />
      </div>
      <Audited operation="listSyncErrors" what="these records">
        {() => (
          <ErrorPages
            key={`${errorType} ${show}`}
            params={params}
            query={{ open: show === 'open', ...(errorType === undefined ? {} : { error_type: errorType }) }}
          />
        )}
      </Audited>
    </Panel>
  );
}

function FileLink({ params }: { params: RunParams }) {
  const path = operationOf('downloadSyncErrors').path.replace(':sync_id', params.sync_id);
  return (
    <a
      className="btn"
      href={path.replace(':run_id', params.run_id)}
      download
      title="This is written into the audit log"
    >
      <Icon name="file" />
      errors.csv
    </a>
  );
}

/** Shows one page at a time: each is a look of its own. */
function ErrorPages({ params, query }: { params: RunParams; query: { open: boolean; error_type?: ErrorType } }) {
  const [before, setBefore] = useState<readonly number[]>([]);
  const after = before.at(-1);
  const result = useRead('listSyncErrors', {
    params,
    query: { ...query, limit: String(PER_PAGE), ...(after === undefined ? {} : { after: String(after) }) },
  });
  return (
    <Shown result={result}>
      {({ errors }) => (
        <>
          <DataTable
            caption="Records that failed or were ignored"
            columns={COLUMNS}
            rows={errors}
            keyOf={({ line, key }) => `${line} ${key}`}
            empty={<Empty says="None. The other filters may have some." />}
          />
          {(errors.length >= PER_PAGE || before.length > 0) && (
            <footer>
              <button
                type="button"
                className="btn plain"
                disabled={before.length === 0 || result.isFetching}
                onClick={() => setBefore(before.slice(0, -1))}
              >
                Previous {PER_PAGE}
              </button>
              <button
                type="button"
                className="btn plain"
                disabled={errors.length < PER_PAGE || result.isFetching}
                onClick={() => setBefore([...before, errors.at(-1)!.line])}
              >
                Next {PER_PAGE}
              </button>
              <span className="quiet">Each page is a look that is written down.</span>
            </footer>
          )}
        </>
      )}
    </Shown>
  );
}

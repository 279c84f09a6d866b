/** The runs of a sync and the changes of its source's fields in one list, with a picture of the last ones. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Sync, SyncRun } from '../../../api/client.ts';
import { stacked } from '../../parts/bars.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { Count, countText, durationText, When } from '../../parts/values.tsx';
import { useList } from '../../session/calls.ts';
import { causeText, RunChip, SchemaChange, tookMs } from './run-words.tsx';

type Newest = { items: SyncRun[]; total_items: number };
type Entry = { kind: 'run' | 'fields'; run: SyncRun };

export function History({ sync, newest }: { sync: Sync; newest: Newest | undefined }) {
  const [isMore, setMore] = useState(false);
  const older = useList(
    'listSyncRuns',
    { params: { sync_id: sync.identifier }, query: { per_page: '100' } },
    { isWanted: isMore },
  );
  if (newest === undefined) return <div />;
  const known = new Set(newest.items.map(({ run_id }) => run_id));
  const others = (older.data?.pages ?? []).flatMap(({ items }) => items).filter(({ run_id }) => !known.has(run_id));
  const entries = [...newest.items, ...others].flatMap(entriesOf);
  return (
    <div className="stack">
      {newest.items.some(({ ended_at }) => ended_at !== null) && <Picture runs={newest.items} />}
      <Panel title="Runs and changed fields">
        <DataTable
          caption="Runs and changed fields"
          columns={columnsOf(sync)}
          rows={entries}
          keyOf={({ kind, run }) => `${kind} ${run.run_id}`}
          empty={<Empty says="No run yet. Runs stay here for 30 days." />}
          {...(isMore ? { more: { ...older, isPending: false } } : {})}
        />
        {!isMore && newest.total_items > newest.items.length && (
          <footer>
            <button type="button" className="btn plain" onClick={() => setMore(true)}>
              Older runs, {countText(newest.total_items - newest.items.length)} of them
            </button>
          </footer>
        )}
      </Panel>
    </div>
  );
}

/** Returns the entries of a run, newest first: changed fields, unless the run before has found the same. */
function entriesOf(run: SyncRun, index: number, runs: readonly SyncRun[]): Entry[] {
  const before = JSON.stringify(runs[index + 1]?.schema_change ?? null);
  const isNews = run.schema_change !== null && JSON.stringify(run.schema_change) !== before;
  return [{ kind: 'run', run }, ...(isNews ? [{ kind: 'fields' as const, run }] : [])];
}

const number = (title: string, of: (run: SyncRun) => number): Column<Entry> => ({
  title,
  isNumber: true,
  cell: ({ kind, run }) => (kind === 'run' ? <Count value={of(run)} /> : null),
});

function columnsOf({ identifier }: Sync): readonly Column<Entry>[] {
  return [
    { title: 'When', cell: ({ run }) => <When at={run.started_at ?? run.received_at} /> },
    {
      title: 'What',
      cell: ({ kind, run }) =>
        kind === 'run' ? (
          <div className="tight">
            <Link to={`/syncs/${identifier}/runs/${run.run_id}`}>
              <RunChip run={run} />
            </Link>
            <span className="small quiet">{causeText(run)}</span>
          </div>
        ) : (
          <>
            <b>Fields of the source changed</b>
            <SchemaChange change={run.schema_change!} />
          </>
        ),
    },
    {
      title: 'Took',
      isNumber: true,
      cell: ({ kind, run }) => (kind === 'run' && tookMs(run) !== null ? durationText(tookMs(run)!) : null),
    },
    number('Read', ({ records }) => records.read),
    number('Written', ({ records }) => records.written),
    number('Ignored', ({ records }) => records.ignored),
    number('Failed', ({ records }) => records.failed),
  ];
}

/** Width of a run and its gap in the drawing, and height of a row of bars. */
const [SLOT, BAR, HEIGHT] = [20, 14, 56];
/** Numbers of runs that the drawing has room for. */
const [FEWEST, MOST] = [12, 30];

/** Draws the ended runs, oldest first: records above, duration below. The table beside it has the numbers. */
function Picture({ runs }: { runs: readonly SyncRun[] }) {
  const ended = runs
    .filter(({ ended_at, dry_run }) => ended_at !== null && !dry_run)
    .slice(0, MOST)
    .toReversed();
  if (ended.length < 2) return null;
  const most = Math.max(1, ...ended.map(({ records }) => records.read));
  const longest = Math.max(1, ...ended.map((run) => tookMs(run) ?? 0));
  return (
    <Panel title={`The last ${ended.length} runs`}>
      <div className="body">
        <Row
          count={ended.length}
          title={`Records, at most ${countText(most)}`}
          said={`Records of the last ${ended.length} runs, oldest first`}
        >
          {ended.map((run, index) => (
            <RecordBar key={run.run_id} run={run} x={index * SLOT} most={most} />
          ))}
        </Row>
        <Row
          count={ended.length}
          title={`Duration, at most ${durationText(longest)}`}
          said={`Duration of the last ${ended.length} runs, oldest first`}
        >
          {ended.map((run, index) => {
            const height = heightOf(tookMs(run) ?? 0, longest);
            return (
              <rect
                key={run.run_id}
                className="f-accent"
                x={index * SLOT}
                width={BAR}
                y={HEIGHT - height}
                height={height}
              >
                <title>{durationText(tookMs(run) ?? 0)}</title>
              </rect>
            );
          })}
        </Row>
        <p className="legend small second">
          <span className="d-ok">written</span>
          <span className="d-neutral">unchanged or ignored</span>
          <span className="d-bad">failed</span>
          <span className="d-accent">duration</span>
        </p>
      </div>
    </Panel>
  );
}

function Row({
  title,
  said,
  count,
  children,
}: {
  title: string;
  said: string;
  count: number;
  children: React.ReactNode;
}) {
  const width = Math.max(FEWEST, count) * SLOT;
  return (
    <div>
      <p className="small second">{title}</p>
      <svg className="runs" viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={said}>
        <rect className="f-line" x="0" y={HEIGHT - 0.5} width={width} height="0.5" />
        {children}
      </svg>
    </div>
  );
}

/** Returns the height of a bar: what exists is drawn at least 2 high. */
const heightOf = (value: number, most: number): number =>
  value === 0 ? 0 : Math.max(2, ((HEIGHT - 2) * value) / most);

function RecordBar({ run: { records, state }, x, most }: { run: SyncRun; x: number; most: number }) {
  const stack = [
    ['f-ok', records.written],
    ['f-neutral', records.unchanged + records.ignored],
    ['f-bad', records.failed],
  ] as const;
  if (state === 'failed' && records.read === 0) {
    return (
      <rect className="f-bad" x={x} width={BAR} y={HEIGHT - 4} height="4">
        <title>failed before the first record</title>
      </rect>
    );
  }
  const parts = stacked(
    stack.map(([, count]) => heightOf(count, most)),
    HEIGHT,
  );
  return (
    <g>
      <title>{`${countText(records.read)} read, ${countText(records.failed)} failed`}</title>
      {stack.map(([tone], index) => (
        <rect key={tone} className={tone} x={x} width={BAR} {...parts[index]} />
      ))}
    </g>
  );
}

/** The runs of an exporter, followed while one is under way; what one changes is read again once it has ended. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import type { ExportRun } from '../../../api/client.ts';
import type { Tone } from '../../parts/balance.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { ConfirmButton } from '../../parts/confirm.tsx';
import { Chip } from '../../parts/head.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { DataTable } from '../../parts/table.tsx';
import { Count, countText, durationText, When } from '../../parts/values.tsx';
import { useAction, useRead } from '../../session/calls.ts';
import { queries } from '../../session/session.tsx';

/** The first page of runs, which other parts of the page read, too. */
export const RUNS_QUERY = { per_page: 20, page: 1 };
/** Reads that a run which ends may change. */
const CHANGED: readonly unknown[] = ['reconcileExports', 'viewDataExporter', 'listDataExporters'];

function isOpen({ state }: Pick<ExportRun, 'state'>): boolean {
  return state === 'accepted' || state === 'running';
}

export function Runs({ id }: { id: string }) {
  const search: Record<string, string> = useSearch({ strict: false });
  const navigate = useNavigate();
  const page = Math.max(1, Number(search['runs'] ?? 1) || 1);
  const runs = useRead(
    'listExportRuns',
    { params: { exporter_id: id }, query: { ...RUNS_QUERY, page } },
    { pollWhile: ({ items }) => items.some(isOpen) },
  );
  useEnds(page === 1 && !runs.isPlaceholderData ? runs.data?.items : undefined);
  const show = (other: number): void =>
    void navigate({ to: '.', search: { ...search, runs: other === 1 ? '' : String(other) } });
  return (
    <Panel title="Runs">
      <Shown result={runs}>
        {({ items, total_pages, total_items }) => (
          <>
            <RunTable id={id} runs={items} />
            {total_pages > 1 && (
              <footer>
                {countText(total_items)} runs, page {page} of {total_pages}
                <button type="button" className="btn plain" disabled={page === 1} onClick={() => show(page - 1)}>
                  Newer
                </button>
                <button
                  type="button"
                  className="btn plain"
                  disabled={page >= total_pages}
                  onClick={() => show(page + 1)}
                >
                  Older
                </button>
              </footer>
            )}
          </>
        )}
      </Shown>
    </Panel>
  );
}

/** Reads again what a run changes, once a run has ended that was under way or was not there yet. */
function useEnds(newest: readonly ExportRun[] | undefined): void {
  const before = useRef<ReadonlySet<string>>(null);
  useEffect(() => {
    if (newest === undefined) return;
    const ended = newest.filter((run) => !isOpen(run)).map(({ identifier }) => identifier);
    const known = before.current;
    before.current = new Set([...(known ?? []), ...ended]);
    if (known !== null && ended.some((each) => !known.has(each)))
      void queries.invalidateQueries({ predicate: ({ queryKey }) => CHANGED.includes(queryKey[1]) });
  }, [newest]);
}

function RunTable({ id, runs }: { id: string; runs: readonly ExportRun[] }) {
  return (
    <DataTable
      caption="Runs, newest first"
      columns={[
        { title: 'Asked for', cell: ({ received_at }) => <When at={received_at} /> },
        { title: 'Why', cell: ({ cause, rerun_of }) => (rerun_of === null ? CAUSES[cause] : 'window again') },
        { title: 'State', cell: (run) => <RunState run={run} /> },
        { title: 'Window', cell: (run) => <RunWindow run={run} /> },
        { title: 'Took', cell: ({ started_at, ended_at }) => tookText(started_at, ended_at) },
        { title: 'Rows', isNumber: true, cell: ({ rows }) => <Count value={rows} /> },
        { title: 'Actions', cell: (run) => <RunActions id={id} run={run} runs={runs} /> },
      ]}
      rows={runs}
      keyOf={({ identifier }) => identifier}
      empty={
        <Empty
          says="No run yet. An active exporter runs each night; Run now exports all data until this moment."
          command={`millrace exporters run ${id}`}
        />
      }
    />
  );
}

const CAUSES = { schedule: 'daily', request: 'asked for', rerun: 'window again', backfill: 'backfill' } as const;

const TONES: Record<ExportRun['state'], Tone> = {
  accepted: 'info',
  running: 'info',
  finished: 'ok',
  failed: 'bad',
  canceled: 'neutral',
};

function RunState({ run }: { run: ExportRun }) {
  const { state, covered, fault, failure, stage, types, rows, waits_until } = run;
  const expected = types.reduce((sum, type) => sum + (type.expected ?? 0), 0);
  return (
    <>
      <Chip tone={TONES[state]}>{state === 'accepted' ? 'waits' : state}</Chip> {covered && 'exported before'}{' '}
      {state === 'running' && expected > 0 && `${countText(rows)} of ${countText(expected)} rows`} {stage}{' '}
      {failure?.message ?? fault}{' '}
      {waits_until !== null && isOpen(run) && (
        <>
          tries again <When at={waits_until} />
        </>
      )}
    </>
  );
}

function RunWindow({
  run: {
    days,
    window: { start, end },
  },
}: {
  run: ExportRun;
}) {
  if (days !== null) return `${days.from} to ${days.to}`;
  return (
    <>
      {start === null ? 'the beginning' : <When at={start} />} to <When at={end} />
    </>
  );
}

function tookText(start: string | null, end: string | null): string {
  return start === null || end === null ? '–' : durationText(Date.parse(end) - Date.parse(start));
}

function RunActions({ id, run, runs }: { id: string; run: ExportRun; runs: readonly ExportRun[] }) {
  const cancel = useAction('cancelExportRun', { changes: ['listExportRuns'] });
  const { identifier, state, covered } = run;
  return (
    <span className="filters">
      {isOpen(run) && (
        <ConfirmButton
          operation="cancelExportRun"
          kind=""
          title="Cancel this run?"
          says="Millrace deletes the files that it has written. The next run exports its window; an earlier export of it stays."
          yes="Cancel the run"
          sent={cancel}
          onYes={(options) => cancel.mutate({ params: { exporter_id: id, run_id: identifier } }, options)}
        >
          Cancel
        </ConfirmButton>
      )}
      {state === 'finished' && !covered && <RerunButton id={id} run={identifier} runs={runs} />}
    </span>
  );
}

/** Exports the window of a run again, unless that is under way. */
export function RerunButton({ id, run, runs = [] }: { id: string; run: string; runs?: readonly ExportRun[] }) {
  const rerun = useAction('rerunExport', { changes: ['listExportRuns'] });
  const first = runs.find(({ identifier }) => identifier === run)?.rerun_of ?? run;
  const isUnderWay = runs.some((other) => other.rerun_of === first && isOpen(other));
  return (
    <>
      <ActionButton
        operation="rerunExport"
        isBusy={rerun.isPending || isUnderWay}
        onPress={() => rerun.mutate({ params: { exporter_id: id, run_id: run } })}
      >
        {isUnderWay ? 'Under way' : 'Export again'}
      </ActionButton>
      {rerun.error && <Refused refusal={rerun.error} />}
    </>
  );
}

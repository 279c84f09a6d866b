/** The windows of an exporter as days: a calendar, rows a day, and a table of the same; verified on a press. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import type { ReconciledWindow, ViewedDataExporter } from '../../../api/client.ts';
import { Balance } from '../../parts/balance.tsx';
import { Bars } from '../../parts/bars.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { Calendar, dayText } from '../../parts/calendar.tsx';
import { isDay } from '../../parts/filters.ts';
import { FilterToggles } from '../../parts/filter-toggles.tsx';
import { Empty, Panel, Skeleton, Unread } from '../../parts/panel.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { DataTable } from '../../parts/table.tsx';
import { bytesText, Count, When } from '../../parts/values.tsx';
import { useList } from '../../session/calls.ts';
import { DayDetail, WindowChip } from './day-detail.tsx';
import {
  addDays,
  dayOf,
  isOnDay,
  keyOf,
  lastDayOf,
  lateRows,
  LOOKS,
  stateOf,
  weeksUntil,
  WINDOW_STATES,
  type WindowState,
  worstOf,
} from './window-state.ts';

const WEEKS = 5;
/** The most windows that the server compares in one request. */
const WINDOWS_A_PAGE = 62;

export function ExporterDays({ exporter: { identifier, time_zone } }: { exporter: ViewedDataExporter }) {
  const search: Record<string, string> = useSearch({ strict: false });
  const navigate = useNavigate();
  const today = dayOf(new Date(), time_zone);
  const until = isDay(search['until'] ?? '') ? search['until']! : today;
  const days = weeksUntil(until, WEEKS);
  const shown = useWindows(identifier, days, time_zone);
  const { windows, record } = shown;
  const go = (changed: Record<string, string>): void =>
    void navigate({ to: '.', search: { ...search, ...changed }, resetScroll: false });
  const picked = isDay(search['day'] ?? '') ? search['day']! : null;
  return (
    <>
      {record.data && <WindowBalance windows={windows} />}
      <div className="cols">
        <Panel
          title="Days"
          end={<Verify shown={shown} />}
          footer={<Range days={days} today={today} zone={time_zone} onUntil={(day) => go({ until: day, day: '' })} />}
        >
          {record.error && <Unread {...record} refusal={record.error} />}
          {shown.verified.error && <Refused refusal={shown.verified.error} />}
          {record.isPending && <Skeleton rows={WEEKS} />}
          {record.data && (
            <div className="body">
              <Calendar
                caption={`Days from ${dayText(days[0]!)} to ${dayText(days.at(-1)!)}, each with the state of its windows`}
                days={days.map((day) => ({ day, state: stateOfDay(windows, day, time_zone) }))}
                picked={picked}
                onPick={(day) => go({ day: day === picked ? '' : day })}
              />
              <Legend windows={windows} />
            </div>
          )}
        </Panel>
        <Panel title="Rows a day">
          {record.isPending && <Skeleton />}
          {record.data && (
            <div className="body">
              <Bars what="rows" of="day" bars={days.map((day) => barOf(windows, day, time_zone))} />
            </div>
          )}
        </Panel>
      </div>
      {picked !== null && (
        <DayDetail
          id={identifier}
          day={picked}
          windows={windows.filter((window) => isOnDay(window, picked, time_zone))}
          onClose={() => go({ day: '' })}
        />
      )}
      {record.data && (
        <div id="windows">
          <WindowTable windows={windows} zone={time_zone} onPick={(day) => go({ day })} />
        </div>
      )}
    </>
  );
}

/** Reads the windows of these days from the record and, once asked, from the bucket. */
function useWindows(id: string, days: readonly string[], zone: string) {
  const first = days[0]!;
  // A day of any zone begins and ends within the day before and the day after of UTC.
  const query = { from: addDays(first, -1), to: addDays(days.at(-1)!, 2), per_page: WINDOWS_A_PAGE };
  const [askedFor, setAskedFor] = useState<string | null>(null);
  const record = useAllOf(id, query, true);
  const verified = useAllOf(id, { ...query, verify: true }, askedFor === first);
  const found = new Map(windowsOf(verified.data).map((window) => [keyOf(window), window]));
  const windows = windowsOf(record.data)
    // A window that was exported again since is another one than the one that was verified.
    .map((window) => (found.get(keyOf(window))?.run === window.run ? found.get(keyOf(window))! : window))
    .filter((window) => days.some((day) => isOnDay(window, day, zone)));
  const verify = (): void => {
    if (askedFor === first) void verified.refetch();
    else setAskedFor(first);
  };
  return { windows, record, verified, verify };
}

function windowsOf(data: { pages: { items: ReconciledWindow[] }[] } | undefined): ReconciledWindow[] {
  return data?.pages.flatMap(({ items }) => items) ?? [];
}

function useAllOf(
  id: string,
  query: { from: string; to: string; per_page: number; verify?: boolean },
  isWanted: boolean,
) {
  const list = useList('reconcileExports', { params: { exporter_id: id }, query }, { isWanted });
  const { hasNextPage, isFetching, isError, fetchNextPage } = list;
  useEffect(() => {
    if (isWanted && hasNextPage && !isFetching && !isError) void fetchNextPage();
  }, [isWanted, hasNextPage, isFetching, isError, fetchNextPage]);
  return list;
}

function Verify({ shown: { verified, verify } }: { shown: ReturnType<typeof useWindows> }) {
  return (
    <>
      {verified.data && !verified.isFetching && (
        <span className="small quiet">
          compared <When at={verified.dataUpdatedAt} />
        </span>
      )}
      <ActionButton operation="reconcileExports" isBusy={verified.isFetching} onPress={verify}>
        {verified.isFetching ? 'Comparing' : 'Verify in the bucket'}
      </ActionButton>
    </>
  );
}

function WindowBalance({ windows }: { windows: readonly ReconciledWindow[] }) {
  const counts = countStates(windows);
  const parts = WINDOW_STATES.toReversed()
    .filter((state) => counts[state] > 0 || state === 'written')
    .map((state) => ({
      label: LOOKS[state].word,
      count: counts[state],
      tone: LOOKS[state].tone,
      to: '.',
      search: { state },
      hash: 'windows',
    }));
  return <Balance total={windows.length} what={`windows in ${WEEKS} weeks`} parts={parts} />;
}

function countStates(windows: readonly ReconciledWindow[]): Record<WindowState, number> {
  const states = windows.map(stateOf);
  const counts = WINDOW_STATES.map((state) => [state, states.filter((each) => each === state).length]);
  return Object.fromEntries(counts) as Record<WindowState, number>;
}

function Legend({ windows }: { windows: readonly ReconciledWindow[] }) {
  const counts = countStates(windows);
  return (
    <ul className="legend small second">
      {WINDOW_STATES.filter((state) => counts[state] > 0).map((state) => (
        <li key={state}>
          <span className={`swatch c-${LOOKS[state].tone}`}>{LOOKS[state].word}</span> {LOOKS[state].says}
        </li>
      ))}
      {windows.length === 0 && <li>No window in these weeks.</li>}
    </ul>
  );
}

function Range({
  days,
  today,
  zone,
  onUntil,
}: {
  days: readonly string[];
  today: string;
  zone: string;
  onUntil: (day: string) => void;
}) {
  const last = days.at(-1)!;
  return (
    <>
      <button type="button" className="btn plain" onClick={() => onUntil(addDays(days[0]!, -1))}>
        Earlier
      </button>
      <button
        type="button"
        className="btn plain"
        disabled={last >= today}
        onClick={() => onUntil(addDays(last, 7 * WEEKS))}
      >
        Later
      </button>
      <label className="pick">
        until
        <input
          type="date"
          data-filter
          value={last}
          onChange={({ target }) => {
            if (isDay(target.value)) onUntil(target.value);
          }}
        />
      </label>
      <span className="quiet">days in {zone}</span>
    </>
  );
}

function stateOfDay(windows: readonly ReconciledWindow[], day: string, zone: string) {
  const worst = worstOf(windows.filter((window) => isOnDay(window, day, zone)).map(stateOf));
  return worst && LOOKS[worst];
}

/** Counts the rows of a window on its last day. */
function barOf(windows: readonly ReconciledWindow[], day: string, zone: string) {
  const ended = windows.filter(({ window }) => lastDayOf(window.end, zone) === day);
  const state = stateOfDay(windows, day, zone);
  return {
    label: day,
    value: ended.reduce((sum, { rows }) => sum + rows, 0),
    tone: state?.tone ?? ('neutral' as const),
    ...(state === null ? {} : { note: state.word }),
  };
}

function WindowTable({
  windows,
  zone,
  onPick,
}: {
  windows: readonly ReconciledWindow[];
  zone: string;
  onPick: (day: string) => void;
}) {
  const { state: asked = '' }: Record<string, string> = useSearch({ strict: false });
  const counts = countStates(windows);
  const states = WINDOW_STATES.filter((state) => counts[state] > 0);
  const rows = windows.filter((window) => asked === '' || stateOf(window) === asked);
  return (
    <Panel title="Windows">
      {states.length > 1 && (
        <div className="body">
          <FilterToggles
            name="state"
            label="Windows by state"
            value={asked}
            options={[
              { value: '', title: 'all', count: windows.length },
              ...states.map((state) => ({ value: state, title: LOOKS[state].word, count: counts[state] })),
            ]}
          />
        </div>
      )}
      <DataTable
        caption="Windows of these weeks, newest first"
        columns={[
          {
            title: 'Day',
            cell: ({ window }) => (
              <button type="button" className="link n" onClick={() => onPick(lastDayOf(window.end, zone))}>
                {lastDayOf(window.end, zone)}
              </button>
            ),
          },
          { title: 'State', cell: (window) => <WindowChip window={window} /> },
          {
            title: 'From',
            cell: ({ window }) => (window.start === null ? 'the beginning' : <When at={window.start} />),
          },
          { title: 'Until', cell: ({ window }) => <When at={window.end} /> },
          { title: 'Rows', isNumber: true, cell: ({ rows }) => <Count value={rows} /> },
          { title: 'Late', isNumber: true, cell: (window) => <Count value={lateRows(window)} /> },
          {
            title: 'Files',
            isNumber: true,
            cell: ({ types }) => <Count value={types.reduce((sum, { files }) => sum + files.length, 0)} />,
          },
          { title: 'Size', isNumber: true, cell: ({ bytes }) => bytesText(bytes) },
        ]}
        rows={rows.toReversed()}
        keyOf={keyOf}
        empty={
          <Empty says="No window in these weeks. The first run exports all data since the day that the settings name." />
        }
      />
    </Panel>
  );
}

/** Events of an app: a line a day with the period before, the kinds of events, and the events themselves. */
import type { EventAnalytics } from '../../../api/client.ts';
import { AsCommand, quoted } from '../../parts/as-command.tsx';
import { FilterToggles } from '../../parts/filter-toggles.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Chip } from '../../parts/head.tsx';
import { Lines } from '../../parts/lines.tsx';
import { Empty, Panel, Shown } from '../../parts/panel.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { Count, countText } from '../../parts/values.tsx';
import { type ResultOf, useRead } from '../../session/calls.ts';
import { ExplorerHead, Shorter, useApp, useDays } from './scope.tsx';
import { EventList } from './usage-list.tsx';

export function EventsPage() {
  const { id } = useApp();
  const { query, from, until } = useDays();
  const counted = useRead('countAppEvents', { params: { app_identifier: id }, query });
  return (
    <>
      <ExplorerHead title="Events" />
      <div className="cols">
        <div className="stack">
          <DayLine kinds={counted.data?.[id]} />
          <Panel
            title="Kinds of events"
            footer="Counted by when events happened: a call that comes late changes its day."
          >
            <Shown result={counted}>{(kinds) => <Kinds kinds={kinds[id] ?? []} />}</Shown>
            <Shorter refusal={counted.error} />
          </Panel>
          <EventList />
        </div>
        <aside className="stack">
          <AsCommand
            operation="countAppDays"
            params={{ app_identifier: id }}
            cli={[
              `millrace usage days ${quoted(id)} --from ${from} --to ${until}`,
              `millrace usage kinds ${quoted(id)} --from ${from} --to ${until}`,
              `millrace usage events ${quoted(id)} --since ${from}`,
            ]}
            manual="reading"
          />
        </aside>
      </div>
    </>
  );
}

const MEASURES = {
  events: 'Events',
  sessions: 'Sessions',
  people: 'People',
  new_devices: 'New devices',
  crashes: 'Crashes',
} as const;
type Measure = keyof typeof MEASURES;

/** The chosen measure by day; with a kind of event in the address, that kind's events. */
function DayLine({ kinds }: { kinds: readonly EventAnalytics[] | undefined }) {
  const { id } = useApp();
  const { query, count } = useDays();
  const [{ show = 'events', name }] = useFilters();
  const measure: Measure = Object.hasOwn(MEASURES, show) ? (show as Measure) : 'events';
  const kind = name === undefined ? undefined : kinds?.find((each) => each.name === name);
  const people = measure === 'people';
  const counted = useRead('countAppDays', { params: { app_identifier: id }, query: { ...query, people } });
  return (
    <Panel
      title={kind ? `${kind.display_name} a day` : 'A day'}
      end={<span className="small quiet">{count} days, UTC</span>}
    >
      {kind ? (
        <div className="body">
          <Lines what="events" days={daysOfKind(kind)} />
        </div>
      ) : (
        <>
          <div className="body">
            <FilterToggles
              name="show"
              label="What is counted"
              value={measure}
              options={Object.entries(MEASURES).map(([value, title]) => ({ value, title }))}
            />
          </div>
          <Shown result={counted}>{(found) => <Measured measure={measure} found={found} />}</Shown>
          <Shorter refusal={counted.error} />
        </>
      )}
    </Panel>
  );
}

function Measured({ measure, found: { current, previous } }: { measure: Measure; found: ResultOf<'countAppDays'> }) {
  const before = previous?.days;
  const isEmpty = current.days.every(({ events, sessions }) => events === 0 && sessions === 0);
  return (
    <div className="body">
      <Lines
        what={MEASURES[measure].toLowerCase()}
        days={current.days.map((day, index) => ({
          day: day.date,
          value: day[measure] ?? 0,
          before: before?.[index]?.[measure] ?? undefined,
        }))}
      />
      {measure === 'people' && current.people !== undefined && (
        <p className="second">
          {countText(current.people)} {current.people === 1 ? 'person' : 'people'} in these days, each counted once
          {previous?.people !== undefined && `; ${countText(previous.people)} in the period before`}.
        </p>
      )}
      {isEmpty && (
        <p className="second">
          Nothing is known of these days. Either the app sent nothing, or they are older than the retention of the
          entity.
        </p>
      )}
    </div>
  );
}

const DAY_SECONDS = 86_400;

function daysOfKind({ hits: { current, previous } }: EventAnalytics) {
  const [first = 0, last = 0] = current.period;
  const length = (last - first) / DAY_SECONDS + 1;
  return Array.from({ length }, (_, index) => {
    const at = first + index * DAY_SECONDS;
    return {
      day: new Date(at * 1_000).toISOString().slice(0, 10),
      value: current.values[at] ?? 0,
      before: previous && (previous.values[at - length * DAY_SECONDS] ?? 0),
    };
  });
}

const sumOf = (values: Readonly<Record<string, number>>): number =>
  Object.values(values).reduce((sum, count) => sum + count, 0);

type Kind = { of: EventAnalytics; hits: number; before: number; sessions: number };

const SORTS: Record<string, (one: Kind, other: Kind) => number> = {
  events: (one, other) => other.hits - one.hits,
  before: (one, other) => other.before - one.before,
  sessions: (one, other) => other.sessions - one.sessions,
  name: (one, other) => one.of.display_name.localeCompare(other.of.display_name),
};

const TYPES: Record<number, string> = { 1: 'error', 3: 'background' };

function Kinds({ kinds }: { kinds: readonly EventAnalytics[] }) {
  const [{ sort: asked = '', name }, change] = useFilters();
  const sort = Object.hasOwn(SORTS, asked) ? asked : 'events';
  const sorted = (by: string) => ({
    isOn: by === sort,
    direction: by === 'name' ? ('ascending' as const) : ('descending' as const),
    onPress: () => change({ sort: by === 'events' ? undefined : by }),
  });
  const rows = kinds
    .map((of) => ({
      of,
      hits: sumOf(of.hits.current.values),
      before: sumOf(of.hits.previous?.values ?? {}),
      sessions: of.hits.current.sessions,
    }))
    .toSorted(SORTS[sort]!);
  const columns: Column<Kind>[] = [
    {
      title: 'Event',
      sort: sorted('name'),
      cell: ({ of }) => (
        <>
          <button
            type="button"
            className="sort"
            aria-pressed={of.name === name}
            onClick={() => change({ name: of.name === name ? undefined : of.name })}
          >
            {of.display_name}
          </button>{' '}
          {of.goal && <Chip tone="info">key event</Chip>}
          {TYPES[of.log_type] && <span className="quiet">{TYPES[of.log_type]}</span>}
        </>
      ),
    },
    { title: 'Events', isNumber: true, sort: sorted('events'), cell: ({ hits }) => <Count value={hits} /> },
    { title: 'Period before', isNumber: true, sort: sorted('before'), cell: ({ before }) => <Count value={before} /> },
    { title: 'Sessions', isNumber: true, sort: sorted('sessions'), cell: ({ sessions }) => <Count value={sessions} /> },
  ];
  return (
    <DataTable
      caption="Kinds of events, with their number and the sessions that had one"
      columns={columns}
      rows={rows}
      keyOf={({ of }) => String(of.identifier)}
      empty={<Empty says="This app has sent no event yet. The first call of its SDK makes a kind of event." />}
    />
  );
}

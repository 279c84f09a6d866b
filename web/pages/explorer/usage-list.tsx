/** Lists of events, sessions, devices and locations: columns, details in the row, filters, and the same as a file. */
import { useLocation, useNavigate } from '@tanstack/react-router';
import type { FormEvent, ReactNode } from 'react';
import { stringify } from '../../../api/client.ts';
import { LIST_FIELDS } from '../../../domain/analytics/usage-lists.ts';
import { AsCommand, quoted } from '../../parts/as-command.tsx';
import { Audited } from '../../parts/audited.tsx';
import { ActionButton } from '../../parts/button.tsx';
import { AreaField } from '../../parts/field.tsx';
import { useFilters } from '../../parts/filters.ts';
import { Icon } from '../../parts/icon.tsx';
import { Empty, Panel } from '../../parts/panel.tsx';
import { PersonLink } from '../../parts/person-link.tsx';
import { Refused } from '../../parts/refusal.tsx';
import { type Column, DataTable } from '../../parts/table.tsx';
import { textOf } from '../../parts/text-of.ts';
import { Count, When } from '../../parts/values.tsx';
import { useAction, useList } from '../../session/calls.ts';
import { FileLink } from '../files/file-link.tsx';
import { ExplorerHead, Shorter, useApp, useDays } from './scope.tsx';

type Name = 'events' | 'sessions' | 'devices' | 'locations';
type Row = Readonly<Record<string, unknown>>;

const PAGE = 100;
const IDS = { events: 'event_id', sessions: 'session_id', devices: 'device_id', locations: 'location_id' } as const;
const CHOSEN: Record<Name, readonly string[]> = {
  events: ['date_utc', 'name', 'user_id', 'device_id', 'detail'],
  sessions: ['start_date_utc', 'duration', 'user_id', 'device_id', 'app_version', 'os_version', 'device_model'],
  devices: ['device_id', 'current_user_id', 'app_version', 'os_version', 'device_model', 'last_opened_app_at'],
  locations: ['date_utc', 'latitude', 'longitude', 'user_id', 'device_id'],
};
/** Filters by words, which stand in the address. */
const WORDS: Record<Name, Readonly<Record<string, string>>> = {
  events: { name: 'Event' },
  sessions: { version: 'App version', country: 'Country', lang: 'Language' },
  devices: {},
  locations: { latitude: 'Latitude', longitude: 'Longitude' },
};
/** Filters that may name people: they stand in the fragment, which no server and no log gets. */
const OF_PEOPLE: Record<Name, Readonly<Record<string, string>>> = {
  events: { user_ids: 'User ids', device_ids: 'Device ids', details: 'Values in the detail' },
  sessions: { user_ids: 'User ids', device_ids: 'Device ids' },
  devices: { user_ids: 'User ids', device_ids: 'Device ids' },
  locations: { device_ids: 'Device ids' },
};

type Asked = {
  fields: readonly string[];
  isGrouped: boolean;
  people: Readonly<Record<string, string[]>>;
  persons: number;
};

function useAsked(list: Name): Asked {
  const [{ fields = '', group }] = useFilters();
  const fragment = new URLSearchParams(useLocation().hash);
  const known: readonly string[] = LIST_FIELDS[list];
  const isGrouped = list === 'events' && group === 'true';
  const given = fields.split(',').filter((field) => known.includes(field));
  const people = Object.fromEntries(Object.keys(OF_PEOPLE[list]).map((name) => [name, fragment.getAll(name)]));
  return {
    fields: (given.length > 0 ? given : CHOSEN[list]).filter((field) => !isGrouped || field !== IDS.events),
    isGrouped,
    people,
    persons: (people['user_ids']?.length ?? 0) + (people['device_ids']?.length ?? 0),
  };
}

const listed = (values: readonly string[] | undefined) => (values && values.length > 0 ? values : undefined);
const word = (text: string | undefined) => (text === undefined || text === '' ? undefined : [text]);

/** Returns the filters of a list, without its page and order: a file takes the same. */
function useListQuery(list: Name) {
  const [{ name, version, country, lang, latitude, longitude }] = useFilters();
  const { from, until } = useDays();
  const { fields, isGrouped, people } = useAsked(list);
  const [users, devices] = [listed(people['user_ids']), listed(people['device_ids'])];
  const days = { since_date: from, until_date: `${until}T23:59:59.999Z` };
  const chosen = { fields: [...fields] };
  if (list === 'devices') return { ...chosen, current_user_ids: users, device_ids: devices };
  if (list === 'locations')
    return {
      ...chosen,
      ...days,
      device_ids: devices,
      latitude: latitude || undefined,
      longitude: longitude || undefined,
    };
  if (list === 'sessions')
    return {
      ...chosen,
      ...days,
      user_ids: users,
      device_ids: devices,
      app_versions: word(version),
      countries: word(country),
      langs: word(lang),
    };
  return {
    ...chosen,
    ...days,
    user_ids: users,
    device_ids: devices,
    details: listed(people['details']),
    names: word(name),
    ...(isGrouped && { group: true }),
  };
}

const TITLES: Record<Name, string> = {
  events: 'Events',
  sessions: 'Sessions',
  devices: 'Devices',
  locations: 'Locations',
};

export const SessionsPage = () => <ListPage list="sessions" />;
export const DevicesPage = () => <ListPage list="devices" />;
export const LocationsPage = () => <ListPage list="locations" />;

const COMMANDS = {
  sessions: (app: string, from: string) => `millrace usage sessions ${app} --since ${from}`,
  devices: (app: string) => `millrace usage devices ${app}`,
  locations: (app: string, from: string) => `millrace usage locations ${app} --since ${from}`,
} as const;

const LISTED = { sessions: Sessions, devices: Devices, locations: Locations } as const;

function ListPage({ list }: { list: keyof typeof LISTED }) {
  const Listed = LISTED[list];
  const { id } = useApp();
  const { from } = useDays();
  return (
    <>
      <ExplorerHead title={TITLES[list]} hasDays={list !== 'devices'} />
      <UsagePanel list={list}>{() => <Listed />}</UsagePanel>
      <AsCommand
        operation={OPERATIONS[list]}
        params={{ app_identifier: id }}
        cli={[COMMANDS[list](quoted(id), from)]}
        manual="reading"
      />
    </>
  );
}

export function EventList() {
  return <UsagePanel list="events">{() => <Events />}</UsagePanel>;
}

const OPERATIONS = {
  events: 'listEvents',
  sessions: 'listSessions',
  devices: 'listDevices',
  locations: 'listLocations',
} as const;

function UsagePanel({ list, children }: { list: Name; children: () => ReactNode }) {
  const { people, persons } = useAsked(list);
  const query = useListQuery(list);
  return (
    <Panel
      title={list === 'devices' ? 'Devices, by their ids' : `${TITLES[list]}, newest first`}
      end={<AsFile key={JSON.stringify(query)} list={list} query={query} />}
    >
      <div className="body">
        <Filters list={list} />
      </div>
      {persons > 0 && (
        <p className="body second">
          <Icon name="person" /> Filters by person: reading the list, or making a file of it, writes an entry for each
          of these people ({persons}).
        </p>
      )}
      <Audited key={JSON.stringify(people)} operation={OPERATIONS[list]} what={`these ${list}`}>
        {children}
      </Audited>
    </Panel>
  );
}

function Events() {
  const { id } = useApp();
  const { isGrouped } = useAsked('events');
  const query = useListQuery('events');
  const read = useList('listEvents', {
    params: { app_identifier: id },
    query: { ...query, per_page: PAGE, ...(isGrouped ? {} : { order: 'desc' as const }) },
  });
  return (
    <>
      <Rows list="events" rows={read.data?.pages.flatMap(({ items }) => items as Row[]) ?? []} more={read} />
      <Shorter refusal={read.error} />
    </>
  );
}

function Sessions() {
  const { id } = useApp();
  const query = { ...useListQuery('sessions'), per_page: PAGE, order: 'desc' as const };
  const read = useList('listSessions', { params: { app_identifier: id }, query });
  return <Rows list="sessions" rows={read.data?.pages.flatMap(({ items }) => items as Row[]) ?? []} more={read} />;
}

function Devices() {
  const { id } = useApp();
  const query = { ...useListQuery('devices'), per_page: PAGE };
  const read = useList('listDevices', { params: { app_identifier: id }, query });
  return <Rows list="devices" rows={read.data?.pages.flatMap(({ items }) => items as Row[]) ?? []} more={read} />;
}

function Locations() {
  const { id } = useApp();
  const query = { ...useListQuery('locations'), per_page: PAGE, order: 'desc' as const };
  const read = useList('listLocations', { params: { app_identifier: id }, query });
  return <Rows list="locations" rows={read.data?.pages.flatMap(({ items }) => items as Row[]) ?? []} more={read} />;
}

const titleOf = (field: string) => field.replaceAll('_', ' ');

function Rows({ list, rows, more }: { list: Name; rows: readonly Row[]; more: ReturnType<typeof useList> }) {
  const { fields, isGrouped } = useAsked(list);
  const columns: Column<Row>[] = fields.map((field) => ({
    title: titleOf(field),
    isNumber: typeof rows[0]?.[field] === 'number' && field !== 'log_type',
    cell: (row) => <Value field={field} value={row[field]} />,
  }));
  const counted: Column<Row> = {
    title: 'count',
    isNumber: true,
    cell: (row) => <Count value={Number(row['count'])} />,
  };
  return (
    <DataTable
      caption={isGrouped ? 'Combinations with their number' : `${TITLES[list]} of the app`}
      columns={isGrouped ? [...columns, counted] : columns}
      rows={rows}
      keyOf={(row) => (isGrouped ? stringify(row) : stringify(row[IDS[list]]))}
      empty={<Empty says={`No ${list} match these filters. Take one away, or choose other days.`} />}
      more={more}
    />
  );
}

const USERS: readonly string[] = ['user_id', 'current_user_id', 'last_user_id'];

function Value({ field, value }: { field: string; value: unknown }) {
  if (value === null || value === undefined) return <span className="quiet">–</span>;
  if (typeof value === 'number') return <Count value={value} />;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') {
    if (USERS.includes(field)) return <PersonLink kind="user_id" id={value} />;
    if (field === 'device_id') return <PersonLink kind="device_id" id={value} />;
    return /_utc$|_at$/.test(field) ? <When at={value} /> : <span className="wraps">{value}</span>;
  }
  return (
    <details>
      <summary className="small">Show</summary>
      <pre className="json mono" tabIndex={0}>
        {stringify(value)}
      </pre>
    </details>
  );
}

function Filters({ list }: { list: Name }) {
  const [filters, change] = useFilters();
  const { fields, isGrouped } = useAsked(list);
  const toggle = (field: string): void => {
    const next = fields.includes(field) ? fields.filter((each) => each !== field) : [...fields, field];
    const inOrder = LIST_FIELDS[list].filter((each) => next.includes(each));
    change({ fields: inOrder.length === 0 ? undefined : inOrder.join(',') });
  };
  return (
    <div className="stack">
      <div className="controls">
        {Object.entries(WORDS[list]).map(([name, title]) => (
          <form
            key={`${name} ${filters[name] ?? ''}`}
            className="pick"
            onSubmit={(event) => {
              event.preventDefault();
              change({ [name]: textOf(event.currentTarget, 'word') || undefined });
            }}
          >
            <label htmlFor={`filter-${name}`}>{title}</label>
            <input
              id={`filter-${name}`}
              name="word"
              type="search"
              placeholder="any, then Enter"
              defaultValue={filters[name] ?? ''}
            />
          </form>
        ))}
        {list === 'events' && (
          <label className="pick">
            <input
              type="checkbox"
              checked={isGrouped}
              onChange={({ target }) => change({ group: target.checked ? 'true' : undefined })}
            />
            Count combinations of the columns, of at most 60 days
          </label>
        )}
      </div>
      <details>
        <summary className="small">Columns ({fields.length})</summary>
        <div className="controls">
          {LIST_FIELDS[list].map((field) => (
            <label className="pick" key={field}>
              <input type="checkbox" checked={fields.includes(field)} onChange={() => toggle(field)} />
              {titleOf(field)}
            </label>
          ))}
        </div>
      </details>
      <PeopleFilters list={list} />
    </div>
  );
}

function PeopleFilters({ list }: { list: Name }) {
  const { people } = useAsked(list);
  const navigate = useNavigate();
  const send = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const pairs = Object.keys(OF_PEOPLE[list]).flatMap((name) =>
      textOf(form, name)
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => [name, line.replace(/\r$/, '')]),
    );
    void navigate({ to: '.', search: true, hash: new URLSearchParams(pairs).toString(), replace: true });
  };
  return (
    <details>
      <summary className="small">Only of some people</summary>
      <form className="stack" key={JSON.stringify(people)} onSubmit={send}>
        {Object.entries(OF_PEOPLE[list]).map(([name, label]) => (
          <AreaField
            key={name}
            label={label}
            hint="One a line. They stay out of the path and the query of this page."
            name={name}
            rows={2}
            autoComplete="off"
            spellCheck={false}
            defaultValue={people[name]?.join('\n')}
          />
        ))}
        <div>
          <button type="submit" className="btn">
            Filter
          </button>
        </div>
      </form>
    </details>
  );
}

const FILES = {
  events: 'exportEventsAs',
  sessions: 'exportSessionsAs',
  devices: 'exportDevicesAs',
  locations: 'exportLocationsAs',
} as const;

/** Makes a file of all entries of the list, with the same filters and columns. */
function AsFile({ list, query }: { list: Name; query: ReturnType<typeof useListQuery> }) {
  const { id } = useApp();
  const made = useAction(FILES[list]);
  if (made.error) return <Refused refusal={made.error} />;
  if (made.data !== undefined) return <FileLink answer={made.data} />;
  return (
    <ActionButton
      operation={FILES[list]}
      isBusy={made.isPending}
      onPress={() =>
        made.mutate({ params: { app_identifier: id, format: 'csv' }, query: { ...query, skip_email: true } })
      }
    >
      <Icon name="export" />
      As a file
    </ActionButton>
  );
}

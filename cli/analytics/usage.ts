/** The command `millrace usage`: what apps sent, by day, by kind, one after the other, and one crash. */
import type { Command } from 'commander';
import { refuse } from '../../domain/core/refusal.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { appParams } from '../apps/find-app.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { recordTable } from '../core/group.ts';
import { sayValue, table } from '../core/table.ts';

type DayOptions = { from?: string; to?: string };
type ListOptions = { since?: string; until?: string; name?: string; user?: string; device?: string; limit: string };

const APP = ['<app>', 'name or identifier of the app'] as const;
const FROM = ['--from <day>', 'the first day in UTC, such as 2026-01-01; by default 29 days before the last'] as const;
const TO = ['--to <day>', 'the last day in UTC; by default today'] as const;
const LIMIT = ['--limit <n>', 'maximum number of entries, from 1 to 10,000', '50'] as const;
const OF_PERSON = 'writes an entry for this person into the audit log';
const [DEFAULT_DAYS, MAX_ENTRIES, MAX_PAGE] = [30, 10_000, 1_000];

export function addUsageCommand(program: Command, run: Run): void {
  const usage = program
    .command('usage')
    .description('what apps sent: events, sessions, devices, locations and crashes');
  const days = (command: Command) => command.option(...FROM).option(...TO);
  days(usage.command('days').description('count events, sessions, people, crashes and new devices by day'))
    .argument(...APP)
    .option('--no-people', 'leave out people, whose count takes the longest')
    .action((app: string, options: DayOptions & { people: boolean }) =>
      run((context) => countDays(context, app, options)),
    );
  days(usage.command('kinds').description('count each kind of event, and the sessions that had it'))
    .argument(...APP)
    .action((app: string, options: DayOptions) => run((context) => countKinds(context, app, options)));
  days(usage.command('values').description("list the members of an event's detail with their most frequent values"))
    .argument(...APP)
    .argument('<event>', 'its name')
    .action((app: string, event: string, options: DayOptions) =>
      run((context) => listValues(context, app, event, options)),
    );
  days(usage.command('crash').description('show a crash with its days, versions and devices'))
    .argument('<crash>', 'its identifier, as apps crashes lists it')
    .action((crash: string, options: DayOptions) => run((context) => viewCrash(context, crash, options)));
  usage
    .command('event')
    .description(`show one event; ${OF_PERSON}`)
    .argument(...APP)
    .argument('<event>', 'its id')
    .action((app: string, event: string) => run((context) => viewEvent(context, app, event)));
  list(usage, 'events', 'time').option('--name <name>', 'only events with this name').action(listing(run, listEvents));
  list(usage, 'sessions', 'start').action(listing(run, listSessions));
  ofPeriod(usage, 'locations', 'time')
    .option('--device <id>', `only those of this device; ${OF_PERSON}`)
    .option(...LIMIT)
    .action(listing(run, listLocations));
  usage
    .command('devices')
    .description('list the devices of an app, by their ids')
    .argument(...APP)
    .option('--device <id>', `only this device; ${OF_PERSON}`)
    .option('--user <id>', `only devices of this user; ${OF_PERSON}`)
    .option(...LIMIT)
    .action(listing(run, listDevices));
}

const ofPeriod = (usage: Command, what: string, by: string): Command =>
  usage
    .command(what)
    .description(`list the ${what} of an app, newest first`)
    .argument(...APP)
    .option('--since <time>', `only from this day or ${by} on, such as 2026-01-31`)
    .option('--until <time>', 'only up to then');

const list = (usage: Command, what: string, by: string): Command =>
  ofPeriod(usage, what, by)
    .option('--user <id>', `only those of this user; ${OF_PERSON}`)
    .option('--device <id>', `only those of this device; ${OF_PERSON}`)
    .option(...LIMIT);

type Listing = (context: CommandContext, app: string, options: ListOptions) => Promise<number>;

const listing = (run: Run, work: Listing) => (app: string, options: ListOptions) =>
  run((context) => work(context, app, options));

/** Returns the days as the API takes them: their midnights in UTC, in seconds. */
function period({ from, to }: DayOptions): { sd: string; ed: string } {
  const last = to === undefined ? Math.floor(Date.now() / DAY_MS) * DAY_MS : midnight('--to', to);
  const first = from === undefined ? last - (DEFAULT_DAYS - 1) * DAY_MS : midnight('--from', from);
  return { sd: String(first / 1_000), ed: String(last / 1_000) };
}

function midnight(option: string, day: string): number {
  const at = /^\d{4}-\d\d-\d\d$/.test(day) ? Date.parse(day) : NaN;
  return Number.isNaN(at) ? refuse(400, 'bad_day', `${option} takes a day in UTC such as 2026-01-31.`) : at;
}

async function countDays(
  { client, console, terminal, setResult }: CommandContext,
  app: string,
  options: DayOptions & { people: boolean },
): Promise<number> {
  const query = { ...period(options), only_current: true, people: options.people };
  const { current } = await client.countAppDays({ params: await appParams(client, app), query });
  setResult(current);
  const heads = ['day', 'events', 'sessions', 'people', 'crashes', 'new devices'];
  const rows = current.days.map((day) =>
    [day.date, day.events, day.sessions, day.people ?? '', day.crashes, day.new_devices].map(String),
  );
  console.log(table(heads, rows, terminal.width));
  if (current.people !== undefined) console.log(`\n${current.people} people in these days`);
  return 0;
}

async function countKinds(
  { client, console, terminal, setResult }: CommandContext,
  app: string,
  options: DayOptions,
): Promise<number> {
  const params = await appParams(client, app);
  const counted = await client.countAppEvents({ params, query: { ...period(options), only_current: true } });
  const kinds = counted[params.app_identifier] ?? [];
  setResult(kinds);
  const rows = kinds
    .map(({ display_name: name, log_type: type, hits: { current } }) => {
      const hits = Object.values(current.values).reduce((sum, count) => sum + count, 0);
      return { hits, row: [String(hits), String(current.sessions), String(type), name] };
    })
    .toSorted((one, other) => other.hits - one.hits);
  const heads = ['events', 'sessions', 'type', 'name'];
  console.log(
    rows.length === 0
      ? 'this app has sent no events'
      : table(
          heads,
          rows.map(({ row }) => row),
          terminal.width,
        ),
  );
  return 0;
}

async function listValues(
  { client, console, terminal, setResult }: CommandContext,
  app: string,
  event: string,
  options: DayOptions,
): Promise<number> {
  const query = { name: event, ...period(options) };
  const found = await client.listEventValues({ params: await appParams(client, app), query });
  setResult(found);
  const { events, is_whole: isWhole, members } = found;
  const rows = members.flatMap(({ key, values, other_values: others }) => [
    ...values.map(({ value, events: count }) => [key, String(count), value]),
    ...(others > 0 ? [[key, '', `${others} others: rare, or of fewer than three people`]] : []),
  ]);
  console.log(rows.length === 0 ? 'no values' : table(['member', 'events', 'value'], rows, terminal.width));
  if (!isWhole) console.error(`These are of the newest ${events} such events; the days have more.`);
  return 0;
}

async function viewCrash(
  { client, console, terminal, setResult }: CommandContext,
  crash: string,
  options: DayOptions,
): Promise<number> {
  const found = await client.viewCrash({ params: { crash_identifier: crash }, query: period(options) });
  setResult(found);
  const { days, app_versions: apps, os_versions: systems, device_models: models, ...record } = found;
  console.log(recordTable(record, terminal.width));
  const shares = { 'app version': apps, 'system version': systems, 'device model': models };
  const rows = Object.entries(shares).flatMap(([what, values]) =>
    values.map(({ value, errors, devices }) => [what, String(errors), String(devices), value ?? 'unknown']),
  );
  const ofDays = days.filter(({ errors }) => errors > 0).map(({ date, errors }) => [date, String(errors)]);
  if (ofDays.length > 0) console.log(`\n${table(['day', 'errors'], ofDays, terminal.width)}`);
  if (rows.length > 0) console.log(`\n${table(['of', 'errors', 'devices', 'value'], rows, terminal.width)}`);
  return 0;
}

async function viewEvent(
  { client, console, terminal, setResult }: CommandContext,
  app: string,
  event: string,
): Promise<number> {
  const params = { ...(await appParams(client, app)), event_identifier: event };
  const found = await client.viewEvent({ params });
  setResult(found);
  console.log(recordTable(found, terminal.width));
  return 0;
}

const filters = ({ since, until, user, device }: ListOptions) => ({
  since_date: since,
  until_date: until,
  user_ids: user === undefined ? undefined : [user],
  device_ids: device === undefined ? undefined : [device],
  order: 'desc' as const,
});

function limitOf({ limit }: ListOptions): number {
  const max = Number(limit);
  return Number.isSafeInteger(max) && max >= 1 && max <= MAX_ENTRIES
    ? max
    : refuse(400, 'bad_limit', '--limit takes a whole number from 1 to 10,000.');
}

async function print<T>(
  { console, terminal, setResult }: CommandContext,
  entries: AsyncIterable<T>,
  max: number,
  columns: Record<string, (entry: T) => string | number | null | undefined>,
): Promise<number> {
  const found: T[] = [];
  for await (const entry of entries) {
    found.push(entry);
    if (found.length === max) break;
  }
  setResult(found);
  const rows = found.map((entry) => Object.values(columns).map((cell) => String(cell(entry) ?? '')));
  console.log(found.length === 0 ? 'none' : table(Object.keys(columns), rows, terminal.width));
  return 0;
}

const second = (at: string | null | undefined) => at?.slice(0, 19);

async function listEvents(context: CommandContext, app: string, options: ListOptions): Promise<number> {
  const [max, { client }] = [limitOf(options), context];
  const names = options.name === undefined ? undefined : [options.name];
  const query = { ...filters(options), names, per_page: Math.min(max, MAX_PAGE) };
  return print(context, client.each.listEvents({ params: await appParams(client, app), query }), max, {
    at: (event) => second(event.date_utc),
    name: (event) => event.name,
    user: (event) => event.user_id,
    device: (event) => event.device_id,
    detail: (event) => (event.detail === null ? '' : sayValue(event.detail)),
  });
}

async function listSessions(context: CommandContext, app: string, options: ListOptions): Promise<number> {
  const [max, { client }] = [limitOf(options), context];
  const query = { ...filters(options), per_page: Math.min(max, MAX_PAGE) };
  return print(context, client.each.listSessions({ params: await appParams(client, app), query }), max, {
    start: (session) => second(session.start_date_utc),
    seconds: (session) => session.duration,
    user: (session) => session.user_id,
    device: (session) => session.device_id,
    version: (session) => session.app_version,
    system: (session) => session.os_version,
    model: (session) => session.device_model,
  });
}

async function listLocations(context: CommandContext, app: string, options: ListOptions): Promise<number> {
  const [max, { client }] = [limitOf(options), context];
  const query = { ...filters(options), user_ids: undefined, per_page: Math.min(max, MAX_PAGE) };
  return print(context, client.each.listLocations({ params: await appParams(client, app), query }), max, {
    time: (location) => second(location.date_utc),
    latitude: (location) => location.latitude,
    longitude: (location) => location.longitude,
    user: (location) => location.user_id,
    device: (location) => location.device_id,
  });
}

async function listDevices(context: CommandContext, app: string, options: ListOptions): Promise<number> {
  const [max, { client }] = [limitOf(options), context];
  const { user_ids: users, device_ids: devices } = filters(options);
  const query = {
    current_user_ids: users,
    device_ids: devices,
    per_page: Math.min(max, MAX_PAGE),
  };
  return print(context, client.each.listDevices({ params: await appParams(client, app), query }), max, {
    device: (device) => device.device_id,
    user: (device) => device.current_user_id ?? device.last_user_id,
    version: (device) => device.app_version,
    system: (device) => device.os_version,
    model: (device) => device.device_model,
    sessions: (device) => device.number_of_sessions,
    crashes: (device) => device.number_of_crashes,
    last: (device) => second(device.last_opened_app_at),
  });
}

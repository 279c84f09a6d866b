/** Lists of events, sessions, devices and locations: filters, pages, counts and CSV. */

import { wholeDays } from '../../domain/analytics/day-period.ts';
import type { ListField, SegmentMember, UsageListName } from '../../domain/analytics/usage-lists.ts';
import { copyCsv } from '../core/copy-out.ts';
import { cursorRows } from '../core/cursor-rows.ts';
import { type Database, type Queryable, read } from '../core/database.ts';
import { isoUtc } from '../core/iso-time.ts';
import { LOOK_UP_BY_KEY } from '../core/look-up-by-key.ts';
import {
  crashesOfDevice,
  DEVICE_COLUMNS,
  LOCATION_COLUMNS,
  SESSION_COLUMNS,
  sessionsOfDevice,
  usersOfDevice,
} from '../tracking/list-columns.ts';
import { EVENT_FIELDS } from './find-event.ts';
import { type EarlierId, personOfDevice, personOfEvent } from './people.ts';
import {
  devicesOfSegment,
  type FewMembers,
  findFewMembers,
  isMember,
  segmentIdsOfDevice,
  segmentsOfDevice,
} from './segment-devices.ts';

const detailText = (row: string) =>
  `CASE jsonb_typeof(${row}.detail) WHEN 'string' THEN ${row}.detail #>> '{}' ELSE ${row}.detail::text END`;

const csvText = (text: string): string => `nullif(${text}, '')`;

/** Returns SQL for a number as JavaScript writes it: with an exponent below a millionth only. */
function degreesText(column: string): string {
  return `CASE WHEN ${column} = 0 OR abs(${column}) >= 1e-6 THEN ${column}::text::numeric::text
    ELSE replace(${column}::text, 'e-0', 'e-') END`;
}

/** SQL of fields whose text differs from their JSON: the elements of lists, and the text of a plain detail. */
const TEXTS: Record<string, string> = {
  segments: segmentIdsOfDevice(),
  users: `(SELECT string_agg(u ->> 'user_id', ';') FROM json_array_elements(seen.users) u)`,
  detail: detailText('r'),
  latitude: degreesText('r.latitude'),
  longitude: degreesText('r.longitude'),
  last_location_latitude: degreesText('r.last_latitude'),
  last_location_longitude: degreesText('r.last_longitude'),
};

export type UsageFilter = {
  appIds: readonly number[] | null;
  since?: Date | undefined;
  until?: Date | undefined;
  /** Entries that were received or changed since then. */
  updatedSince?: Date | undefined;
  oneOf: Partial<Record<FilterColumn, readonly (string | number)[] | undefined>>;
  /** For events: a user's, and in these apps those of ids that became the user. */
  person?: { userId: string; earlier: readonly EarlierId[] } | undefined;
  details?: readonly string[] | undefined;
  hiddenSegments?: readonly number[] | undefined;
  /** For events and devices: people of one of these segments; for `segment_devices` the segment. */
  segments?: readonly number[] | undefined;
};

const FILTER_TYPES = {
  device_id: 'text',
  user_id: 'text',
  session_id: 'bigint',
  name: 'text',
  app_version: 'text',
  country: 'text',
  lang: 'text',
  latitude: 'float8',
  longitude: 'float8',
  current_user_id: 'text',
} as const;
type FilterColumn = keyof typeof FILTER_TYPES;

/** Conditions that follow from a filter without an index, and have one: sessions_by_subject, device_users_by_user. */
const INDEXED: { [List in UsageListName]?: Partial<Record<FilterColumn, (ids: string) => string>> } = {
  sessions: { device_id: (ids) => `r.subject = ANY (ARRAY(SELECT 'd' || id FROM unnest(${ids}) AS given (id)))` },
  devices: {
    current_user_id: (ids) =>
      `(r.app_id, r.device_id) IN (SELECT u.app_id, u.device_id FROM device_users u WHERE u.entity_id = $1 AND u.user_id = ANY (${ids}))`,
  },
};

const APPLICATION = '(SELECT a.identifier FROM apps a WHERE a.entity_id = r.entity_id AND a.id = r.app_id)';

type List<Name extends UsageListName> = {
  from?: (app: string, segment: string) => string;
  countedAs?: UsageListName;
  settings?: string;
  person?: string;
  /** The columns that order entries, with their types: the end of an index. */
  keys: readonly (readonly [column: string, type: string])[];
  /** The sequence of ids: later entries have higher ones. */
  sequence?: string;
  fields: Record<ListField<Name>, string>;
  /** Joins that only these fields need. */
  joins?: readonly { fields: readonly ListField<Name>[]; sql: string }[];
};

const RECENT = `now() - interval '30 days'`;

const DEVICES: Pick<List<'devices'>, 'fields' | 'joins'> = {
  fields: {
    ...DEVICE_COLUMNS,
    application_id: APPLICATION,
    users: 'seen.users',
    segments: segmentsOfDevice(),
    first_campaign_received_at: isoUtc('r.first_campaign_received_at'),
    last_campaign_received_at: isoUtc('r.last_campaign_received_at'),
    first_opened_app_at: isoUtc('r.first_seen_at'),
    last_opened_app_at: isoUtc('r.last_seen_at'),
    updated_at: isoUtc('r.received_at'),
  },
  joins: [
    {
      fields: ['users'],
      sql: usersOfDevice(`coalesce(json_agg(json_build_object('user_id', u.user_id) ORDER BY u.user_id), '[]')`),
    },
    {
      fields: ['number_of_sessions_30d', 'total_session_duration', 'total_session_duration_30d'],
      sql: sessionsOfDevice(RECENT),
    },
    { fields: ['number_of_crashes_30d'], sql: crashesOfDevice(RECENT) },
  ],
};

const LISTS: { [Name in UsageListName]: List<Name> } = {
  events: {
    person: personOfEvent('r'),
    keys: [
      ['r.happened_at', 'timestamptz'],
      ['r.id', 'bigint'],
    ],
    sequence: 'event_ids',
    fields: EVENT_FIELDS,
  },
  sessions: {
    keys: [
      ['r.started_at', 'timestamptz'],
      ['r.id', 'bigint'],
    ],
    sequence: 'session_ids',
    fields: {
      ...SESSION_COLUMNS,
      application_id: APPLICATION,
      start_date_utc: isoUtc('r.started_at'),
      end_date_utc: isoUtc('r.ended_at'),
      carrier: 'r.carrier',
    },
  },
  devices: { ...DEVICES, person: personOfDevice('r'), keys: [['r.device_id', 'text']] },
  // By person, so that a page reads only its members, however large the app or the segment is.
  segment_devices: {
    ...DEVICES,
    from: devicesOfSegment,
    countedAs: 'devices',
    settings: LOOK_UP_BY_KEY,
    keys: [
      ['r.person', 'text'],
      ['r.device_id', 'text'],
    ],
  },
  locations: {
    keys: [
      ['r.happened_at', 'timestamptz'],
      ['r.id', 'bigint'],
    ],
    sequence: 'location_ids',
    fields: { ...LOCATION_COLUMNS, application_id: APPLICATION, date_utc: isoUtc('r.happened_at') },
  },
};

/** Number of entries in memory: a default page, and one that shows whether another page follows. */
const PORTION = 1_001;

/** The start of a page: after a number of entries, or after an entry's keys (null: first), without ids above `upTo`. */
export type PageStart = { offset: number } | { after: readonly string[] | null; upTo: number | null };

export type UsageEntry = { json: string; key_0: string; key_1?: string };

export const keysOf = ({ key_0: first, key_1: second }: UsageEntry): string[] =>
  second === undefined ? [first] : [first, second];

export async function countUsage(
  db: Queryable,
  list: UsageListName,
  entityId: number,
  filter: UsageFilter,
): Promise<number> {
  const { statement, values } = countByDays(list, entityId, filter) ?? (await countRows(db, list, entityId, filter));
  const { rows } = await db.query<{ count: number }>(statement, values);
  return rows[0]!.count;
}

type Statement = { statement: string; values: unknown[] };

async function countRows(
  db: Queryable,
  list: UsageListName,
  entityId: number,
  filter: UsageFilter,
): Promise<Statement> {
  const counted = LISTS[list].countedAs ?? list;
  const { from, condition, values } = conditionOf(
    counted,
    entityId,
    await withFewMembers(db, counted, entityId, filter),
  );
  return { statement: `SELECT count(*) AS count FROM ${from} r WHERE ${condition}`, values };
}

/** Adds counts of whole days to entries around them, as of one moment. Null: other filters, or no whole day. */
function countByDays(list: UsageListName, entityId: number, filter: UsageFilter): Statement | null {
  const { since, until, updatedSince, oneOf, person, details, segments } = filter;
  const isMore = [updatedSince, person, details, segments, ...Object.values(oneOf)].some(
    (wanted) => wanted !== undefined,
  );
  const days = !('sequence' in LISTS[list]) || isMore ? null : wholeDays(since, until);
  if (days === null) return null;
  const values: unknown[] = [entityId];
  const add = (value: unknown) => `$${values.push(value)}`;
  const [at, apps] = [LISTS[list].keys[0]![0], ofApps(filter, add)];
  const [from, end] = [days.from && add(days.from), days.until && add(days.until)];
  const dayOf = (midnight: string) => `(${midnight}::timestamptz AT TIME ZONE 'UTC')::date`;
  const counted = `SELECT coalesce(sum(c.${list}), 0)::bigint FROM tracked_counts c
    WHERE c.entity_id = $1 ${apps('c')} ${from ? `AND c.day >= ${dayOf(from)}` : ''} ${end ? `AND c.day < ${dayOf(end)}` : ''}`;
  const rows = (bounds: string) => `SELECT count(*) FROM ${list} r WHERE r.entity_id = $1 ${apps('r')} AND ${bounds}`;
  const parts = [counted];
  if (from) parts.push(rows(`${at} >= ${add(since)} AND ${at} < ${from}`));
  if (end) parts.push(rows(`${at} >= ${end} AND ${at} <= ${add(until)}`));
  return { statement: `SELECT ${parts.map((part) => `(${part})`).join(' + ')} AS count`, values };
}

/** Returns the highest id of the list now; null if its entries have no numbers. */
export async function findHighestId(db: Queryable, list: UsageListName): Promise<number | null> {
  const { sequence } = LISTS[list];
  if (sequence === undefined) return null;
  const { rows } = await db.query<{ id: number }>(`SELECT last_value AS id FROM ${sequence}`);
  return rows[0]!.id;
}

type Page<Name extends UsageListName> = {
  fields: readonly ListField<Name>[];
  start: PageStart;
  newestFirst?: boolean;
  limit: number;
  /** Members of each segment of a device; default: its id. */
  segmentMembers?: readonly SegmentMember[];
};

/** Yields up to `limit` entries in order; no transaction is open between portions. */
export async function* listUsage<Name extends UsageListName>(
  db: Database,
  list: Name,
  entityId: number,
  filter: UsageFilter,
  page: Page<Name>,
): AsyncGenerator<UsageEntry> {
  for await (const entries of listUsagePortions(db, list, entityId, filter, page)) yield* entries;
}

/** Yields portions, and reads the next while one is used; `asTexts`: fields as texts, as in a file. */
export async function* listUsagePortions<Name extends UsageListName>(
  db: Database,
  list: Name,
  entityId: number,
  asked: UsageFilter,
  page: Page<Name>,
  asTexts = false,
): AsyncGenerator<UsageEntry[]> {
  const filter = await withFewMembers(db, list, entityId, asked);
  const { start, limit } = page;
  const portionFrom = (from: PageStart, left: number) => {
    const portion = listPortion(
      db,
      list,
      entityId,
      filter,
      { ...page, start: from, limit: Math.min(left, PORTION) },
      asTexts,
    );
    portion.catch(() => {}); // an unawaited one
    return portion;
  };
  const upTo = 'upTo' in start ? start.upTo : null;
  let left = limit;
  for (let portion = portionFrom(start, left); ;) {
    const entries = await portion;
    left -= entries.length;
    const isLast = entries.length < PORTION || left <= 0;
    if (!isLast) portion = portionFrom({ after: keysOf(entries.at(-1)!), upTo }, left);
    yield entries;
    if (isLast) return;
  }
}

async function listPortion<Name extends UsageListName>(
  db: Database,
  list: Name,
  entityId: number,
  filter: FoundFilter,
  { fields, start, limit, newestFirst = false, segmentMembers }: Page<Name>,
  asTexts: boolean,
): Promise<UsageEntry[]> {
  const { keys, settings }: Pick<List<Name>, 'keys' | 'settings'> = LISTS[list];
  const { from, condition, values } = conditionOf(list, entityId, filter);
  const add = (value: unknown) => `$${values.push(value)}`;
  const columns = keys.map(([column]) => column).join(', ');
  const order = keys.map(([column]) => (newestFirst ? `${column} DESC` : column)).join(', ');
  let rest = '';
  if ('after' in start && start.after) {
    const after = start.after.map((value, index) => `${add(value)}::${keys[index]![1]}`);
    // The first comparison leaves out months; the one of two columns leaves out none.
    const beyond = newestFirst ? '<' : '>';
    rest = `AND ${keys[0]![0]} ${beyond}= ${after[0]} AND (${columns}) ${beyond} (${after.join(', ')})`;
  }
  if ('upTo' in start && start.upTo !== null) rest += ` AND r.id <= ${add(start.upTo)}`;
  const offset = 'offset' in start ? `OFFSET ${add(start.offset)}` : '';
  // Building the object member by member takes a quarter longer, and so does an array of the keys.
  const json = asTexts ? `json_build_array(${textsOf(list, fields, filter).join(', ')})` : 'row_to_json(entry)';
  const entries = asTexts ? '' : `CROSS JOIN LATERAL (SELECT ${columnsOf(list, fields, filter, segmentMembers)}) entry`;
  const shown = [`${json}::text AS json`, ...keys.map(([column], index) => `${column}::text AS key_${index}`)];
  const statement = `SELECT ${shown.join(', ')}
     FROM (SELECT * FROM ${from} r WHERE ${condition} ${rest} ORDER BY ${order} ${offset} LIMIT ${add(limit)}) r
     ${joinsOf(list, fields)} ${entries} ORDER BY ${order}`;
  const { rows } =
    settings === undefined
      ? await db.query<UsageEntry>(statement, values)
      : await read(db, (tx) => tx.query<UsageEntry>(statement, values), { settings });
  return rows;
}

function joinsOf<Name extends UsageListName>(list: Name, fields: readonly ListField<Name>[]): string {
  const { joins = [] }: Pick<List<Name>, 'joins'> = LISTS[list];
  return joins
    .filter((join) => join.fields.some((field) => fields.includes(field)))
    .map(({ sql }) => sql)
    .join(' ');
}

/** Forces the order of an index: sorting millions of rows would copy them to disk before the first row. */
const IN_ORDER = 'SET LOCAL enable_seqscan = off; SET LOCAL jit = off';

/** Yields all entries in order, as of now, as rows of a CSV file whose records end with LF. */
export async function* copyUsage<Name extends UsageListName>(
  db: Database,
  list: Name,
  entityId: number,
  asked: UsageFilter,
  { fields, isGrouped }: { fields: readonly ListField<Name>[]; isGrouped: boolean },
): AsyncGenerator<Buffer> {
  if (isGrouped) return yield* copyGrouped(db, entityId, asked, fields as readonly ListField<'events'>[]);
  const { keys, settings = IN_ORDER }: Pick<List<Name>, 'keys' | 'settings'> = LISTS[list];
  const { from, condition, values } = conditionOf(list, entityId, await withFewMembers(db, list, entityId, asked));
  yield* copyCsv(
    db,
    `SELECT ${textsOf(list, fields, asked).map(csvText).join(', ')} FROM ${from} r ${joinsOf(list, fields)}
     WHERE ${condition} ORDER BY ${keys.map(([column]) => column).join(', ')}`,
    values,
    settings,
  );
}

async function* copyGrouped(
  db: Database,
  entityId: number,
  filter: UsageFilter,
  fields: readonly ListField<'events'>[],
): AsyncGenerator<Buffer> {
  const { condition, values } = conditionOf('events', entityId, await withFewMembers(db, 'events', entityId, filter));
  const { columns, keys, texts } = groupsOf(fields);
  yield* copyCsv(
    db,
    `SELECT ${[...texts.map(csvText), 'g.count'].join(', ')}
     FROM (SELECT ${columns} FROM events r WHERE ${condition} ${keys && `GROUP BY ${keys}`} ${keys && `ORDER BY ${keys}`}) g`,
    values,
    LOOK_UP_BY_KEY,
  );
}

/** Yields combinations of the fields with their `count`, in order of the fields, and returns their number. */
export async function* listGrouped(
  db: Database,
  entityId: number,
  filter: UsageFilter,
  { fields, offset, limit }: { fields: readonly ListField<'events'>[]; offset: number; limit: number | null },
  asTexts = false,
): AsyncGenerator<{ total: number; json: string | null }> {
  const { condition, values } = conditionOf('events', entityId, await withFewMembers(db, 'events', entityId, filter));
  const { columns, keys, texts } = groupsOf(fields);
  const json = asTexts
    ? `json_build_array(${[...texts, 'g.count'].join(', ')})`
    : `json_build_object(${['count', ...fields].map((name) => `'${name}', g.${name}`).join(', ')})`;
  yield* cursorRows<{ total: number; json: string | null }>(
    db,
    `WITH grouped AS MATERIALIZED (
       SELECT ${columns} FROM events r WHERE ${condition} ${keys === '' ? '' : `GROUP BY ${keys}`})
     SELECT t.total, CASE WHEN g.count IS NOT NULL THEN ${json}::text END AS json
     FROM (SELECT count(*) AS total FROM grouped) t
     LEFT JOIN (SELECT * FROM grouped ${keys === '' ? '' : `ORDER BY ${keys}`} OFFSET $${values.length + 1} LIMIT $${values.length + 2}) g
       ON true`,
    [...values, offset, limit],
  );
}

function groupsOf(fields: readonly ListField<'events'>[]) {
  return {
    columns: [...fields.map((field) => `${LISTS.events.fields[field]} AS ${field}`), 'count(*) AS count'].join(', '),
    keys: fields.map((_, index) => index + 1).join(', '),
    texts: fields.map((field) => `(${field === 'detail' ? detailText('g') : `g.${field}`})::text`),
  };
}

function columnsOf(
  list: UsageListName,
  fields: readonly string[],
  filter: UsageFilter,
  members?: readonly SegmentMember[],
): string {
  const expressions: Record<string, string> = {
    ...LISTS[list].fields,
    segments: segmentsOfDevice(members, filter.hiddenSegments),
  };
  return fields.map((field) => `${expressions[field]} AS ${field}`).join(', ');
}

function textsOf(list: UsageListName, fields: readonly string[], { hiddenSegments: hidden }: UsageFilter): string[] {
  const expressions: Record<string, string> = { ...LISTS[list].fields, ...TEXTS, segments: segmentIdsOfDevice(hidden) };
  return fields.map((field) => `(${expressions[field]})::text`);
}

type FoundFilter = UsageFilter & { few?: FewMembers | null };

async function withFewMembers(
  db: Queryable,
  list: UsageListName,
  entityId: number,
  filter: UsageFilter,
): Promise<FoundFilter> {
  if (!filter.segments || LISTS[list].from) return filter;
  return { ...filter, few: await findFewMembers(db, entityId, filter.segments, filter.appIds ?? []) };
}

function conditionOf(
  list: UsageListName,
  entityId: number,
  filter: FoundFilter,
): { from: string; condition: string; values: unknown[] } {
  const at = LISTS[list].keys[0]![0];
  const values: unknown[] = [entityId];
  const add = (value: unknown) => `$${values.push(value)}`;
  const conditions = [`r.entity_id = $1 ${ofApps(filter, add)('r')}`];
  if (filter.since) conditions.push(`${at} >= ${add(filter.since)}`);
  if (filter.until) conditions.push(`${at} <= ${add(filter.until)}`);
  if (filter.updatedSince) conditions.push(`r.received_at >= ${add(filter.updatedSince)}`);
  for (const [column, wanted] of Object.entries(filter.oneOf)) {
    if (!wanted) continue;
    const ids = `${add(wanted)}::${FILTER_TYPES[column as FilterColumn]}[]`;
    conditions.push(`r.${column} = ANY (${ids})`);
    const indexed = INDEXED[list]?.[column as FilterColumn];
    if (indexed) conditions.push(indexed(ids));
  }
  if (filter.person) conditions.push(ofPerson(filter.person, add));
  if (filter.details) {
    const details = add(filter.details);
    conditions.push(`CASE jsonb_typeof(r.detail)
      WHEN 'object' THEN EXISTS (SELECT FROM jsonb_each_text(r.detail) m WHERE m.value = ANY (${details}::text[]))
      ELSE r.detail #>> '{}' = ANY (${details}::text[]) END`);
  }
  const { from: rowsOf, person }: Pick<List<never>, 'from' | 'person'> = LISTS[list];
  const { segments, few } = filter;
  if (rowsOf)
    return { from: rowsOf('$2', `${add(segments![0])}::integer`), condition: conditions.join(' AND '), values };
  if (segments) {
    if (few) conditions.push(maybeOf(list, few, add));
    conditions.push(isMember(person!, `${add(segments)}::integer[]`));
  }
  return { from: list, condition: conditions.join(' AND '), values };
}

function maybeOf(list: UsageListName, { users, devices }: FewMembers, add: (value: unknown) => string): string {
  const ofDevices = `r.device_id = ANY (${add(devices)}::text[])`;
  return list === 'devices' ? ofDevices : `(r.user_id = ANY (${add(users)}::text[]) OR ${ofDevices})`;
}

/** Uses events_by_user and events_by_device. An earlier id counts in the app that says what it became. */
function ofPerson({ userId, earlier }: NonNullable<UsageFilter['person']>, add: (value: unknown) => string): string {
  const [user, apps, ids] = [add(userId), add(earlier.map(({ appId }) => appId)), add(earlier.map(({ id }) => id))];
  return `(r.user_id = ${user} OR (r.user_id = ANY (${ids}::text[]) OR r.user_id IS NULL AND r.device_id = ANY (${ids}::text[]))
    AND (r.app_id, coalesce(r.user_id, r.device_id)) IN (SELECT * FROM unnest(${apps}::integer[], ${ids}::text[])))`;
}

/** Returns the condition on a row's app: `=` for one app, so that the primary key gives its order. */
function ofApps({ appIds }: UsageFilter, add: (value: unknown) => string): (row: string) => string {
  if (!appIds) return () => '';
  const wanted = appIds.length === 1 ? `= ${add(appIds[0])}` : `= ANY (${add(appIds)}::integer[])`;
  return (row) => `AND ${row}.app_id ${wanted}`;
}

export async function hasDevice(db: Queryable, entityId: number, appId: number, deviceId: string): Promise<boolean> {
  return (await countUsage(db, 'devices', entityId, { appIds: [appId], oneOf: { device_id: [deviceId] } })) > 0;
}

export async function hasUser(db: Queryable, entityId: number, userId: string): Promise<boolean> {
  const {
    rows: [found],
  } = await db.query<{ known: boolean }>(
    `SELECT EXISTS (SELECT FROM device_users WHERE entity_id = $1 AND user_id = $2)
       OR EXISTS (SELECT FROM events WHERE entity_id = $1 AND user_id = $2) AS known`,
    [entityId, userId],
  );
  return found!.known;
}

/** SQL that finds the people of a segment's filters. */
import {
  type ComparedType,
  type Comparison,
  type DeviceField,
  versionNumbers,
} from '../../domain/analytics/comparison.ts';
import type { StepOutcome } from '../../domain/analytics/funnel-counts.ts';
import type { DetailPairs } from '../../domain/analytics/funnel.ts';
import {
  type BlockOperator,
  type CountOperator,
  lastDaysOf,
  type MessageOutcome,
  type SegmentSelection,
} from '../../domain/analytics/segment-filters.ts';
import type { WidenedFrom } from '../../domain/attributes/widen-type.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { TEST_COPIES } from '../campaigns/campaign-tests.ts';
import { isoUtc } from '../core/iso-time.ts';
import { foregroundSeconds } from '../tracking/sessions.ts';
import { type AddParameter, detailsSql, funnelPeopleSql, type FunnelQuery, parameters } from './funnel-stats.ts';
import { personOfDevice, personSql, personWithOnlyUser } from './people.ts';
import { deviceIsSampled, isSampled, type Sample, sampledEvents, type SampledRead } from './sample.ts';

/** SQL of filters: each filter is a set of people, joined to the people of the app. */

export type ResolvedFilters = { operator: BlockOperator; blocks: ResolvedBlock[] };
export type ResolvedBlock = { operator: BlockOperator; filters: (ResolvedFilter | ResolvedBlock)[] };

type Period = { from: Date; until: Date };
export type ResolvedFilter =
  | { on: 'attributes'; sorId: number; attributeId: number; comparison: Comparison; widenedFrom?: WidenedFrom | null }
  | { on: 'devices'; field: DeviceField; comparison: Comparison }
  | {
      on: 'events';
      appId: number;
      logType: number;
      name: string;
      details: readonly DetailPairs[] | null;
      operator: CountOperator;
      count: number;
      period: Period;
    }
  | { on: 'segments'; ids: readonly number[]; selection: SegmentSelection; isNegated: boolean }
  | { on: 'funnels'; query: FunnelQuery; outcome: StepOutcome; isNegated: boolean }
  | {
      on: 'campaigns';
      outcome: MessageOutcome;
      isNegated: boolean;
      /** Null: all campaigns of the segment's app. */
      ids: readonly number[] | null;
      appIds: readonly number[];
      from: Date | null;
    };

export type SegmentQuery = {
  appId: number;
  filters: ResolvedFilters;
  now: Date;
  /** If true, an earlier id counts as the id that it became. */
  aliases?: boolean;
  /** The people that all filters look at; null: all. */
  sample?: Sample | null;
};

/**
 * `with`: common table expressions, among them `people`, the people of the app, and `only_users`. `matched`: a query
 * for the people that the filters find, as `person`, each once; `members`: for all their ids, which are more with
 * aliases. `ofDevice`: with the joins, the person in `matched` of a row `d` of devices. $1 is the entity.
 */
export type SegmentSql = {
  with: string;
  matched: string;
  members: string;
  ofDevice: Resolved;
  values: unknown[];
  add: AddParameter;
};

/**
 * `sets`: the joins of each filter's people to people `p`; `met`: for each filter, in order, whether `p` is among them;
 * `upTo`: for each filter, whether it and those before it find `p`; `condition`: whether all filters together do.
 * `ofUser`: a query for the person as which a user counts.
 */
type FilteredSql = SegmentSql & {
  sets: string;
  met: readonly string[];
  upTo: readonly string[];
  condition: string;
  ofUser: (user: string) => string;
};

/**
 * Returns the SQL of filters: each filter is a set of people, each once, joined to the people of the app. So the
 * planner hashes or sorts each set once, in bounded memory, whatever the blocks are.
 */
export function segmentSql({ appId, filters, now, aliases = false, sample = null }: SegmentQuery): FilteredSql {
  const { values, add } = parameters();
  const app = `${add(appId)}::integer`;
  const sets: string[] = [];
  const met: string[] = [];
  const filterOf = (filter: ResolvedFilter): Condition => {
    const { people, isNegated } = peopleOf(filter, { app, now, add, aliases, sample });
    const name = `f${sets.length}`;
    sets.push(`LEFT JOIN (${people}) ${name} ON ${name}.person = p.person`);
    met.push(`${name}.person IS ${isNegated ? '' : 'NOT '}NULL`);
    return { filter: met.length - 1 };
  };
  const blockOf = (operator: BlockOperator, elements: readonly (ResolvedFilter | ResolvedBlock)[]): Condition => ({
    operator,
    of: elements.map((element) => ('on' in element ? filterOf(element) : blockOf(element.operator, element.filters))),
  });
  const whole = blockOf(filters.operator, filters.blocks);
  const condition = conditionSql(whole, met, met.length) ?? 'true';
  const matched = `SELECT p.person FROM people p ${sets.join('\n')} WHERE ${condition}`;
  const base = resolvedPerson('b.person', app, aliases);
  return {
    with: peopleSql(app, [appId, ...appsOf(filters)], add, { aliases, sample }),
    matched,
    sets: sets.join('\n'),
    met,
    upTo: met.map((_, last) => conditionSql(whole, met, last)!),
    condition,
    values,
    add,
    ofUser: (user) => `SELECT ${base.person} AS person FROM (SELECT 'u' || ${user} AS person) b ${base.joins}`,
    ofDevice: deviceOwner(app, aliases),
    members: aliases
      ? `SELECT b.person FROM app_people b ${base.joins} JOIN (${matched}) m ON m.person = ${base.person}`
      : matched,
  };
}

type Condition = { filter: number } | { operator: BlockOperator; of: Condition[] };

/** Returns the condition of the filters up to the one at `last`; null: it has none of these. */
function conditionSql(condition: Condition, met: readonly string[], last: number): string | null {
  if ('filter' in condition) return condition.filter <= last ? met[condition.filter]! : null;
  const parts = condition.of.flatMap((part) => conditionSql(part, met, last) ?? []);
  return parts.length === 0 ? null : `(${parts.join(condition.operator === 'and' ? ' AND ' : ' OR ')})`;
}

export function memberSql(appId: number, segmentId: number): SegmentSql {
  const { values, add } = parameters();
  const app = `${add(appId)}::integer`;
  const matched = `SELECT p.person FROM people p JOIN segment_members m
    ON m.entity_id = $1 AND m.segment_id = ${add(segmentId)}::integer AND m.person = p.person`;
  return {
    with: peopleSql(app, [appId], add, { aliases: false, sample: null }),
    matched,
    members: matched,
    values,
    add,
    ofDevice: deviceOwner(app, false),
  };
}

function peopleSql(
  app: string,
  apps: readonly number[],
  add: AddParameter,
  { aliases, sample }: { aliases: boolean; sample: Sample | null },
): string {
  const tables = personSql(`${add([...new Set(apps)])}::integer[]`, { aliases, sample }).with.join(', ');
  if (!aliases) return `${tables}, people AS MATERIALIZED (${peopleOfApp(app, sample)})`;
  const { joins, person } = resolvedPerson('b.person', app, true);
  // An earlier id tells nothing of whether the later one is in the sample.
  const inSample = sample ? `WHERE ${isSampled(person, sample)}` : '';
  return `${tables}, app_people AS MATERIALIZED (${peopleOfApp(app, null)}),
    people AS MATERIALIZED (SELECT DISTINCT ${person} AS person FROM app_people b ${joins} ${inSample})`;
}

function deviceOwner(app: string, aliases: boolean): Resolved {
  const { joins, person } = resolvedPerson(personWithOnlyUser('d'), app, aliases);
  return { joins: `${onlyUserOfDevice('d')} ${joins}`, person };
}

const eachFilterOf = (of: ResolvedFilter | ResolvedBlock): readonly ResolvedFilter[] =>
  'on' in of ? [of] : of.filters.flatMap(eachFilterOf);

function appsOf({ blocks }: ResolvedFilters): readonly number[] {
  return blocks
    .flatMap(eachFilterOf)
    .flatMap((filter) => (filter.on === 'events' ? [filter.appId] : filter.on === 'campaigns' ? filter.appIds : []));
}

/** Lists the events that each of the filters reads. */
export function eventsReadBy({ blocks }: ResolvedFilters): SampledRead[] {
  return blocks.flatMap(eachFilterOf).flatMap((filter) => {
    if (filter.on === 'events') return [{ appIds: [filter.appId], ...filter.period }];
    if (filter.on !== 'funnels') return [];
    const { events, from, until } = filter.query;
    return [{ appIds: [...new Set(events.map(({ appId }) => appId))], from, until }];
  });
}

/**
 * Returns SQL for an app's people, each once, as `person`: users, and devices without a user or with several, since
 * calls without a user are then the device's. Needs `only_users` of `personSql`.
 */
function peopleOfApp(app: string, sample: Sample | null): string {
  const inSample = (person: string) => (sample ? `AND ${isSampled(person, sample)}` : '');
  return `
  SELECT 'u' || user_id AS person FROM device_users WHERE entity_id = $1 AND app_id = ${app} ${inSample(`'u' || user_id`)}
  UNION SELECT subject FROM session_heads
  WHERE entity_id = $1 AND app_id = ${app} AND subject >= 'u' AND subject < 'v' ${inSample('subject')}
  UNION ALL
  SELECT 'd' || d.device_id FROM devices d ${onlyUserOfDevice('d')}
  WHERE d.entity_id = $1 AND d.app_id = ${app} AND d.last_user_id IS NULL AND o.device_id IS NULL ${sample ? `AND ${deviceIsSampled('d', sample)}` : ''}
  UNION ALL SELECT 'd' || device_id FROM only_users
  WHERE app_id = ${app} AND user_id IS NULL ${inSample(`'d' || device_id`)}`;
}

const onlyUserOfDevice = (d: string): string =>
  `LEFT JOIN only_users o ON o.app_id = ${d}.app_id AND o.device_id = CASE WHEN ${d}.last_user_id IS NULL THEN ${d}.device_id END`;

type Resolved = { joins: string; person: string };

function resolvedPerson(person: string, app: string, aliases: boolean): Resolved {
  if (!aliases) return { joins: '', person };
  return {
    joins: `LEFT JOIN alias_ends became ON became.app_id = ${app} AND became.previous_id = substr(${person}, 2)`,
    person: `coalesce('u' || became.user_id, ${person})`,
  };
}

export type Asked = { app: string; now: Date; add: AddParameter; aliases: boolean; sample: Sample | null };
type People = { people: string; isNegated: boolean };

function peopleOf(filter: ResolvedFilter, asked: Asked): People {
  switch (filter.on) {
    case 'attributes':
      return peopleWithAttribute(filter, asked);
    case 'devices':
      return peopleWithDevice(filter, asked);
    case 'events':
      return peopleWithEvents(filter, asked);
    case 'segments':
      return peopleInSegments(filter, asked);
    case 'funnels':
      return {
        people: funnelPeopleSql({ ...filter.query, sample: asked.sample }, filter.outcome, asked.add),
        isNegated: filter.isNegated,
      };
    case 'campaigns':
      return peopleOfCampaigns(filter, asked);
  }
}

type Of<Kind extends ResolvedFilter['on']> = Extract<ResolvedFilter, { on: Kind }>;

const VALUE_COLUMNS = {
  String: 'v.string_value',
  Number: 'v.number_value',
  Boolean: 'v.boolean_value',
  Date: 'v.date_value',
  Datetime: 'v.datetime_value',
  Set: 'v.set_elements',
  Version: 'v.string_value',
} as const;

const isText = (pattern: string, type: string) =>
  `CASE WHEN v.string_value ~ '${pattern}' AND pg_input_is_valid(v.string_value, '${type}') THEN v.string_value::${type} END`;

const EARLIER_VALUES: Record<WidenedFrom, string> = {
  Number: `coalesce(v.number_value, ${isText('^-?[0-9.]+([eE][+-]?[0-9]{1,3})?$', 'numeric')})`,
  Boolean: `coalesce(v.boolean_value, ${isText('^(true|TRUE|false|FALSE)$', 'boolean')})`,
  Date: `coalesce(v.date_value, ${isText('^[0-9]{4}-[0-9]{2}-[0-9]{2}$', 'date')})`,
  Datetime: `coalesce(v.datetime_value, ${isText('^[0-9]{4}-[0-9]{2}-[0-9]{2}T.*(Z|[+-][0-9]{2}:?[0-9]{2})$', 'timestamptz')})`,
};
/** SQL for a value as text; null for a Set. */
export const TEXTS = `coalesce(v.string_value, v.number_value::text, v.boolean_value::text, v.date_value::text, ${isoUtc('v.datetime_value')})`;

function valueColumn(type: ComparedType, widenedFrom: WidenedFrom | null): string {
  if (widenedFrom === null) return VALUE_COLUMNS[type];
  return type === widenedFrom ? EARLIER_VALUES[widenedFrom] : TEXTS;
}

/** Returns a further condition that leaves out rows of users outside the sample; a row without a user may count. */
function mayCount(user: string, { aliases, sample }: Asked): string {
  return sample && !aliases ? `AND coalesce(${isSampled(`'u' || ${user}`, sample)}, true)` : '';
}

/** Returns a query for people, each once. `found` may name a person by earlier ids. */
function resolvedAll(found: string, { app, aliases }: Asked): string {
  if (!aliases) return found;
  const { joins, person } = resolvedPerson('f.person', app, true);
  return `SELECT ${person} AS person FROM (${found}) f ${joins} GROUP BY 1`;
}

/** Counts a device's value for its person; looks up only devices with such a value. */
function peopleWithAttribute(
  { sorId, attributeId, comparison, widenedFrom = null }: Of<'attributes'>,
  asked: Asked,
): People {
  const { app, now, add } = asked;
  const person = `CASE v.customer_type WHEN 0 THEN 'u' || v.customer_id ELSE (
    SELECT ${personOfDevice('d')} FROM devices d
    WHERE d.entity_id = $1 AND d.app_id = ${app} AND d.device_id = v.customer_id) END`;
  return {
    isNegated: comparison.isNegated,
    people: resolvedAll(
      `SELECT ${person} AS person FROM attribute_values v
      WHERE v.entity_id = $1 AND v.sor_id = ${add(sorId)}::integer AND v.attribute_id = ${add(attributeId)}::integer
        AND v.removed_at IS NULL AND ${comparisonSql(comparison, valueColumn(comparison.type, widenedFrom), now, add)}
        ${mayCount('CASE v.customer_type WHEN 0 THEN v.customer_id END', asked)} GROUP BY 1`,
      asked,
    ),
  };
}

export const DEVICE_COLUMNS: Record<DeviceField, string> = {
  opt_in: 'd.opt_in',
  opt_out: 'd.opt_out',
  uninstalled: 'd.uninstalled',
  number_of_sessions: 'd.number_of_sessions',
  number_of_sessions_30d: 'coalesce(had.recent, 0)',
  total_session_duration: 'coalesce(had.seconds, 0)',
  total_session_duration_30d: 'coalesce(had.recent_seconds, 0)',
  last_city: 'd.last_city',
  country_code: 'd.country',
  language_code: 'd.lang',
  app_version: 'd.app_version',
  os_version: 'd.os_version',
  sdk_version: 'd.sdk_version',
  device_model: 'd.device_model',
  device_type: 'd.device_type',
  last_location_latitude: 'd.last_latitude::numeric',
  last_location_longitude: 'd.last_longitude::numeric',
  timezone_offset: 'd.utc_offset',
  number_of_crashes: 'd.number_of_crashes',
  number_of_crashes_30d: 'coalesce(crashed.recent, 0)',
  first_opened_app_at: 'd.first_seen_at',
  last_opened_app_at: 'd.last_seen_at',
  updated_at: 'd.received_at',
};

const RECENT_MS = 30 * DAY_MS;

export function deviceJoin(field: DeviceField, { app, now, add }: Pick<Asked, 'app' | 'now' | 'add'>): string {
  const recent = () => `${add(new Date(now.getTime() - RECENT_MS))}::timestamptz`;
  if (field === 'number_of_crashes_30d') {
    return `LEFT JOIN (
      SELECT e.device_id, count(*) AS recent FROM events e
      WHERE e.entity_id = $1 AND e.app_id = ${app} AND e.happened_at >= ${recent()} AND e.log_type = 1 GROUP BY e.device_id) crashed
      ON crashed.device_id = d.device_id`;
  }
  if (!DEVICE_COLUMNS[field].includes('had.')) return '';
  const since = recent();
  return `LEFT JOIN (
    SELECT s.subject, count(*) FILTER (WHERE s.started_at >= ${since}) AS recent, sum(${foregroundSeconds('s')}) AS seconds,
      sum(${foregroundSeconds('s')}) FILTER (WHERE s.started_at >= ${since}) AS recent_seconds
    FROM sessions s WHERE s.entity_id = $1 AND s.app_id = ${app} GROUP BY s.subject) had ON had.subject = 'd' || d.device_id`;
}

/**
 * Returns SQL of the app's devices; of the sample, of those that may be of its people. Uses devices_sampled and
 * devices_without_user; with aliases all devices.
 */
export function devicesSql(app: string, { aliases, sample }: Pick<Asked, 'aliases' | 'sample'>): string {
  if (!sample || aliases) return 'devices';
  const ofApp = `d.entity_id = $1 AND d.app_id = ${app}`;
  return `(SELECT * FROM devices d WHERE ${ofApp} AND ${deviceIsSampled('d', sample)}
    UNION ALL SELECT d.* FROM devices d JOIN sampled_devices s ON s.app_id = d.app_id AND s.device_id = d.device_id
    WHERE ${ofApp} AND d.last_user_id IS NULL AND NOT ${deviceIsSampled('d', sample)})`;
}

function peopleWithDevice({ field, comparison }: Of<'devices'>, asked: Asked): People {
  const { app, now, add, aliases } = asked;
  const { joins, person } = deviceOwner(app, aliases);
  return {
    isNegated: comparison.isNegated,
    people: `SELECT ${person} AS person FROM ${devicesSql(app, asked)} d ${joins} ${deviceJoin(field, asked)}
      WHERE d.entity_id = $1 AND d.app_id = ${app} AND ${comparisonSql(comparison, DEVICE_COLUMNS[field], now, add)} GROUP BY 1`,
  };
}

/** Every person has an event zero or more times, so "at most n times" means all except people with more than n. */
function peopleWithEvents(
  { appId, logType, name, details, operator, count, period }: Of<'events'>,
  asked: Asked,
): People {
  const { add, aliases, sample } = asked;
  const { joins, person } = personSql('', { aliases });
  const [from, until] = [`${add(period.from)}::timestamptz`, `${add(period.until)}::timestamptz`];
  const apps = `${add([appId])}::integer[]`;
  const events = sample ? sampledEvents(apps, { aliases, sample, from, until }) : 'events';
  const kind = logType === 0 ? '' : `AND e.log_type = ${add(logType)}::smallint`;
  const detail = details === null ? 'AND false' : details.length === 0 ? '' : `AND (${detailsSql(details, add)})`;
  const isNegated = operator === 'at_most' || (operator === 'exactly' && count === 0);
  const least = isNegated ? count + 1 : count;
  const having =
    operator === 'exactly' && !isNegated
      ? `HAVING count(*) = ${add(count)}::bigint`
      : least > 1
        ? `HAVING count(*) >= ${add(least)}::bigint`
        : '';
  return {
    isNegated,
    people: `SELECT ${person} AS person FROM ${events} e ${joins}
      WHERE e.entity_id = $1 AND e.app_id = ANY (${apps}) AND e.happened_at >= ${from} AND e.happened_at < ${until} ${kind}
        AND e.name = ${add(name)}::text ${detail} ${sample ? `AND coalesce(${isSampled(person, sample)}, false)` : ''}
      GROUP BY 1 ${having}`,
  };
}

/** With aliases a person is in a segment by any of their ids. */
function peopleInSegments({ ids, selection, isNegated }: Of<'segments'>, { app, add, aliases, sample }: Asked): People {
  const { joins, person } = resolvedPerson('m.person', app, aliases);
  const having =
    selection === 'all_of' ? `HAVING count(${aliases ? 'DISTINCT segment_id' : '*'}) = ${add(ids.length)}::bigint` : '';
  return {
    isNegated: isNegated !== (selection === 'none_of'),
    people: `SELECT ${person} AS person FROM segment_members m ${joins}
      WHERE m.entity_id = $1 AND m.segment_id = ANY (${add(ids)}::integer[])
        ${sample && !aliases ? `AND ${isSampled('m.person', sample)}` : ''} GROUP BY 1 ${having}`,
  };
}

/** SQL for whether a message was received or opened: by its attempt `a`, or by counts of older ones `p`. */
const MESSAGES: Record<MessageOutcome, { attempt: string; counted: string }> = {
  // An opened push was sent, even if its provider's answer is unknown.
  received: {
    attempt: `(a.code = 'PUSH_SENT' OR a.shown_at IS NOT NULL OR a.opened_at IS NOT NULL)`,
    counted: 'p.sent + p.shown + p.opened > 0',
  },
  opened: { attempt: '(a.opened_at IS NOT NULL OR a.clicked_at IS NOT NULL)', counted: 'p.opened + p.clicked > 0' },
};

/**
 * Counts a message to a device without a user like such an event. Groups rows of a person or device before the joins.
 * Uses the primary keys; for all campaigns of an app, all rows of the entity.
 */
function peopleOfCampaigns({ outcome, ids, from, isNegated }: Of<'campaigns'>, asked: Asked): People {
  const { app, add } = asked;
  const { attempt, counted } = MESSAGES[outcome];
  const named = ids && `${add(ids)}::integer[]`;
  const allOfApp = `a.app_id = ${app} AND a.campaign_id NOT IN (${TEST_COPIES})`;
  const older =
    from !== null
      ? ''
      : `
          UNION ALL
          SELECT c.app_id, CASE WHEN starts_with(p.person, 'u') THEN p.person END,
            CASE WHEN starts_with(p.person, 'd') THEN substr(p.person, 2) END
          FROM campaign_people p JOIN campaigns c ON c.entity_id = $1 AND c.id = p.campaign_id
          WHERE p.entity_id = $1 AND ${named ? `p.campaign_id = ANY (${named})` : `c.app_id = ${app}`} AND ${counted}`;
  return {
    isNegated,
    people: resolvedAll(
      `SELECT coalesce(m.person, 'u' || o.user_id, 'd' || m.device_id) AS person FROM (
        SELECT app_id, person, device_id FROM (
          SELECT a.app_id, 'u' || a.user_id AS person, CASE WHEN a.user_id IS NULL THEN a.device_id END AS device_id FROM attempts a
          WHERE a.entity_id = $1 AND ${named ? `a.campaign_id = ANY (${named})` : allOfApp} AND ${attempt}
            ${from === null ? '' : `AND a.created_at >= ${add(from)}::timestamptz`}${older}) got
        GROUP BY 1, 2, 3) m
      LEFT JOIN only_users o ON o.app_id = m.app_id AND o.device_id = m.device_id
      GROUP BY 1`,
      asked,
    ),
  };
}

const SQL_TYPES = {
  String: 'text',
  Number: 'numeric',
  Boolean: 'boolean',
  Date: 'date',
  Datetime: 'timestamptz',
  Set: 'text',
  Version: 'text',
} as const satisfies Record<ComparedType, string>;

const SIGNS: Partial<Record<Comparison['operator'], string>> = {
  greater_than: '>',
  at_least: '>=',
  less_than: '<',
  at_most: '<=',
  before: '<',
  after: '>',
};

const versionSql = (column: string): string =>
  `CASE WHEN length(${column}) <= 100 THEN
    string_to_array(regexp_replace(substring(${column} from '[0-9]+(?:\\.[0-9]+)*'), '(\\.0+)+$', ''), '.')::numeric[] END`;

/** Returns SQL for whether a column has a value that fits a comparison, not negated; false or null if it has none. */
function comparisonSql(
  { type, operator, values }: Pick<Comparison, 'type' | 'operator' | 'values'>,
  column: string,
  now: Date,
  add: AddParameter,
): string {
  const sqlType = SQL_TYPES[type];
  const any = (condition: (value: string) => string) => `(${values.map((value) => condition(value)).join(' OR ')})`;
  if (operator === 'is_set') return type === 'Set' ? `cardinality(${column}) > 0` : `${column} IS NOT NULL`;
  if (values.length === 0) return 'false';
  if (operator === 'contains') return any((value) => `position(${add(value)}::text IN ${column}) > 0`);
  if (operator === 'starts_with') return any((value) => `starts_with(${column}, ${add(value)}::text)`);
  if (operator === 'contains_any') return `${column} && ${add(values)}::text[]`;
  if (operator === 'contains_all') return `${column} @> ${add(values)}::text[]`;
  if (operator === 'in_last_days') {
    const { from, until } = lastDaysOf(Number(values[0]), now);
    const at = (instant: Date) => add(type === 'Date' ? instant.toISOString().slice(0, 10) : instant);
    return `(${column} >= ${at(from)}::${sqlType} AND ${column} < ${at(until)}::${sqlType})`;
  }
  const [compared, parameter] =
    type === 'Version'
      ? [versionSql(column), (value: string) => `${add(versionNumbers(value))}::numeric[]`]
      : [column, (value: string) => `${add(value)}::${sqlType}`];
  if (operator === 'between') return `${compared} BETWEEN ${parameter(values[0]!)} AND ${parameter(values[1]!)}`;
  const sign = SIGNS[operator];
  if (sign !== undefined) return `${compared} ${sign} ${parameter(values[0]!)}`;
  if (type === 'Version') return any((value) => `${compared} = ${parameter(value)}`);
  return `${column} = ANY (${add(values)}::${sqlType}[])`;
}

/** Memory for each hash and sort of a statement; larger ones use files. */
const SEGMENT_MEMORY = '64MB';

/** Settings of a transaction: a time limit, and no comparison of two sets of people one by one. */
export const segmentSettings = (timeoutMs: number): string => `SET LOCAL transaction_timeout = 0;
  SET LOCAL statement_timeout = ${timeoutMs}; SET LOCAL work_mem = '${SEGMENT_MEMORY}'; SET LOCAL jit = off;
  SET LOCAL enable_nestloop = off; SET LOCAL client_connection_check_interval = '2s'`;

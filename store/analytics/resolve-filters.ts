/** Resolves filters: checks them, and finds the ids of the names in them. */

import { DEVICE_FIELDS, type DeviceField, deviceFieldType, readComparison } from '../../domain/analytics/comparison.ts';
import { eventNameError } from '../../domain/analytics/event-names.ts';
import { detailsOf, eventsOfFunnel } from '../../domain/analytics/funnel.ts';
import {
  type AttributesFilter,
  type CampaignsFilter,
  type DevicesFilter,
  eachFilter,
  type EventsFilter,
  type FilterBlock,
  type FilterPeriod,
  type FunnelsFilter,
  isBlock,
  lastDaysOf,
  type SegmentFilter,
  type SegmentFilters,
  type SegmentsFilter,
} from '../../domain/analytics/segment-filters.ts';
import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import type { FieldError } from '../../domain/core/refusal.ts';
import { sayUnknown } from '../../domain/text/say-unknown.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { listAppIds } from '../apps/apps.ts';
import { type CustomerAttribute, listCustomerAttributesOf } from '../attributes/customer-attributes.ts';
import { listSorIds } from '../attributes/systems-of-records.ts';
import type { Campaign } from '../campaigns/campaigns.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import type { Queryable } from '../core/database.ts';
import { listEventNames } from '../tracking/event-definitions.ts';
import { findErasureFailure } from './filters-of-people.ts';
import { findFunnel, type Funnel } from './funnels.ts';
import type { ResolvedBlock, ResolvedFilter, ResolvedFilters, SegmentQuery } from './segment-sql.ts';

type NamedSegment = Row<'segments', 'id' | 'identifier' | 'name' | 'snapshotAt' | 'failure'>;

/** `errors` by path, or `query`. `failure`: an erasure removed a value that excluded people, so none is found. */
type Resolution = {
  errors: FieldError[];
  query: SegmentQuery | null;
  segments: NamedSegment[];
  failure: string | null;
};

type Asked = { appId: number; filters: SegmentFilters; now: Date; isStored?: boolean };

/** Looks up names in filters at the path `at`, and checks values. Stored ones may hold rests of erased values. */
export async function resolveFilters(
  db: Queryable,
  entityId: number,
  { appId, filters, now, isStored = false }: Asked,
  at = 'filters',
): Promise<Resolution> {
  const aliases = filters.aliases ?? false;
  const known = await knownNames(
    db,
    entityId,
    appId,
    [...eachFilter(filters)].map(({ filter }) => filter),
  );
  const errors: FieldError[] = [];
  const resolve = (element: SegmentFilter | FilterBlock, path: string): ResolvedFilter | ResolvedBlock => {
    if (isBlock(element)) return resolveBlock(element, path);
    const resolved = resolveFilter(element, known, { now, isStored, aliases });
    if (!('element' in resolved)) return resolved;
    errors.push({ element: `${path}.${resolved.element}`, message: resolved.message });
    return NOTHING;
  };
  const resolveBlock = ({ operator, filters: elements }: FilterBlock, path: string): ResolvedBlock => ({
    operator,
    filters: elements.map((element, index) => resolve(element, `${path}.filters.${index}`)),
  });
  const resolved: ResolvedFilters = {
    operator: filters.operator,
    blocks: filters.blocks.map((block, index) => resolveBlock(block, `${at}.blocks.${index}`)),
  };
  const query = errors.length === 0 ? { appId, filters: resolved, now, aliases } : null;
  return {
    errors,
    query,
    segments: [...known.segments.values()],
    failure: await findErasureFailure(db, entityId, filters),
  };
}

const NOTHING: ResolvedBlock = { operator: 'and', filters: [] };

type Known = {
  appId: number;
  apps: Map<string, number>;
  sors: Map<string, number>;
  attributes: CustomerAttribute[];
  segments: Map<string, NamedSegment>;
  funnels: Map<string, Funnel>;
  events: Map<string, ReadonlySet<string>>;
  campaigns: Map<string, Pick<Campaign, 'id' | 'appId'>>;
};

const eventsKey = (appId: number, logType: number): string => `${appId}/${logType}`;

async function knownNames(
  db: Queryable,
  entityId: number,
  appId: number,
  filters: readonly SegmentFilter[],
): Promise<Known> {
  const named = <Kind extends SegmentFilter>(kind: Kind['filter_on']) =>
    filters.filter((filter): filter is Kind => filter.filter_on === kind);
  const sors = await listSorIds(
    db,
    entityId,
    named<AttributesFilter>('attributes').map((filter) => filter.sor_identifier),
  );
  const funnels = new Map<string, Funnel>();
  for (const { funnel_identifier: identifier } of named<FunnelsFilter>('funnels')) {
    const funnel = funnels.get(identifier) ?? (await findFunnel(db, entityId, identifier));
    if (funnel) funnels.set(identifier, funnel);
  }
  const eventFilters = named<EventsFilter>('events');
  const apps = await listAppIds(db, entityId, [
    ...eventFilters.flatMap((filter) => filter.app_id ?? []),
    ...[...funnels.values()].flatMap(({ steps }) =>
      steps.flatMap(({ match_name: names }) => names.map((name) => name.app_id)),
    ),
  ]);
  const events = new Map<string, ReadonlySet<string>>();
  for (const { app_id: app, log_type: logType } of eventFilters) {
    const id = app === undefined ? appId : apps.get(app);
    if (id === undefined || events.has(eventsKey(id, logType))) continue;
    events.set(eventsKey(id, logType), await listEventNames(db, entityId, id, logType === 0 ? null : logType));
  }
  return {
    appId,
    apps,
    sors,
    funnels,
    events,
    attributes: await listCustomerAttributesOf(db, entityId, [...sors.values()]),
    segments: await listNamedSegments(
      db,
      entityId,
      named<SegmentsFilter>('segments').flatMap((filter) => filter.segment_identifiers),
    ),
    campaigns: await listCampaignRefs(
      db,
      entityId,
      named<CampaignsFilter>('campaigns').flatMap((filter) => filter.campaign_identifiers ?? []),
    ),
  };
}

async function listNamedSegments(
  db: Queryable,
  entityId: number,
  identifiers: string[],
): Promise<Map<string, NamedSegment>> {
  if (identifiers.length === 0) return new Map();
  const { rows } = await db.query<NamedSegment>(
    `SELECT id, identifier, name, snapshot_at AS "snapshotAt", failure FROM segments WHERE entity_id = $1 AND identifier = ANY ($2)`,
    [entityId, identifiers],
  );
  return new Map(rows.map((segment) => [segment.identifier, segment]));
}

function resolveFilter(
  filter: SegmentFilter,
  known: Known,
  { now, isStored, aliases }: { now: Date; isStored: boolean; aliases: boolean },
): ResolvedFilter | FieldError {
  switch (filter.filter_on) {
    case 'attributes':
      return resolveAttribute(filter, known, isStored);
    case 'devices':
      return resolveDeviceField(filter);
    case 'events':
      return resolveEvents(filter, known, now);
    case 'segments':
      return resolveSegments(filter, known);
    case 'funnels':
      return resolveFunnel(filter, known, { now, aliases });
    case 'campaigns':
      return resolveCampaigns(filter, known, now);
  }
}

function resolveAttribute(
  { sor_identifier: sor, attribute_key: key, operator, values, values_erased: valuesErased = 0 }: AttributesFilter,
  { sors, attributes }: Known,
  isStored: boolean,
): ResolvedFilter | FieldError {
  const sorId = sors.get(sor);
  if (sorId === undefined) {
    return {
      element: 'sor_identifier',
      message: 'is no System of Records of your entity: GET /api/system_of_records lists them',
    };
  }
  const own = attributes.filter((attribute) => attribute.sorId === sorId);
  const attribute = own.find((candidate) => candidate.key === key);
  if (!attribute) {
    const message =
      own.length === 0
        ? 'is unknown: this System of Records has no attributes yet'
        : sayUnknown(
            key,
            own.map((candidate) => candidate.key),
          );
    return { element: 'attribute_key', message };
  }
  const { id: attributeId, widenedFrom } = attribute;
  const read = (type: ValueType) => readComparison(type, operator, values, { isStored, valuesErased });
  // A filter from before the attribute became a String still compares values of the earlier type.
  const earlier = widenedFrom === null || isSetOperator(operator) ? null : read(widenedFrom);
  const comparison = earlier === null || 'element' in earlier ? read(attribute.valueType) : earlier;
  return 'element' in comparison ? comparison : { on: 'attributes', sorId, attributeId, comparison, widenedFrom };
}

function isSetOperator(operator: string): boolean {
  return operator === 'is_set' || operator === 'is_not_set';
}

function resolveDeviceField({ field, operator, values }: DevicesFilter): ResolvedFilter | FieldError {
  const type = deviceFieldType(field);
  if (type === undefined) return { element: 'field', message: sayUnknown(field, DEVICE_FIELDS) };
  const comparison = readComparison(type, operator, values);
  return 'element' in comparison ? comparison : { on: 'devices', field: field as DeviceField, comparison };
}

const UNKNOWN_APP = 'is no app of your entity: GET /api/apps lists them';

function resolveEvents(filter: EventsFilter, known: Known, now: Date): ResolvedFilter | FieldError {
  const { app_id: app, log_type: logType, log_name: name, operator, count, period } = filter;
  const appId = app === undefined ? known.appId : known.apps.get(app);
  if (appId === undefined) return { element: 'app_id', message: UNKNOWN_APP };
  const message = eventNameError(name, known.events.get(eventsKey(appId, logType))!);
  if (message !== null) return { element: 'log_name', message };
  return {
    on: 'events',
    appId,
    logType,
    name,
    details: detailsOf(filter),
    operator,
    count,
    period: periodOf(period, now),
  };
}

function resolveSegments(
  { selection, segment_identifiers: identifiers, operator }: SegmentsFilter,
  { segments }: Known,
): ResolvedFilter | FieldError {
  const unknown = identifiers.findIndex((identifier) => !segments.has(identifier));
  if (unknown !== -1) {
    return {
      element: `segment_identifiers.${unknown}`,
      message: 'is no segment of your entity: GET /api/segments lists them',
    };
  }
  const ids = [...new Set(identifiers.map((identifier) => segments.get(identifier)!.id))];
  return { on: 'segments', ids, selection, isNegated: operator === 'is_not_in' };
}

function resolveFunnel(
  { funnel_identifier: identifier, step, outcome, operator, period }: FunnelsFilter,
  { funnels, apps }: Known,
  { now, aliases }: { now: Date; aliases: boolean },
): ResolvedFilter | FieldError {
  const funnel = funnels.get(identifier);
  if (!funnel)
    return { element: 'funnel_identifier', message: 'is no funnel of your entity: GET /api/funnels lists them' };
  if (funnel.archivedAt !== null)
    return { element: 'funnel_identifier', message: 'is archived: restore the funnel first' };
  const first = outcome === 'dropped' ? 1 : 0;
  const last = funnel.steps.length - 1;
  if (step < first || step > last) {
    const message =
      last < first
        ? 'does not exist: people drop out between two steps, and the funnel has one'
        : `must be the number of a step, from ${first} to ${last}`;
    return { element: 'step', message };
  }
  const events = eventsOfFunnel(funnel.steps).flatMap(({ appId, ...event }) => {
    const id = apps.get(appId);
    return id === undefined ? [] : [{ ...event, appId: id }];
  });
  const query = {
    events,
    details: funnel.steps.map(detailsOf),
    ...periodOf(period, now),
    maxSeconds: funnel.maxDuration,
    aliases,
    sample: null,
    breakdown: null,
  };
  return { on: 'funnels', query, outcome: { step, outcome }, isNegated: operator === 'is_not_in' };
}

function resolveCampaigns(
  { outcome, campaign_identifiers: identifiers, operator, last_days: days }: CampaignsFilter,
  { appId, campaigns }: Known,
  now: Date,
): ResolvedFilter | FieldError {
  const unknown = identifiers?.findIndex((identifier) => !campaigns.has(identifier)) ?? -1;
  if (unknown !== -1) {
    return {
      element: `campaign_identifiers.${unknown}`,
      message: 'is no campaign of your entity: GET /api/campaigns lists them',
    };
  }
  const named = identifiers?.map((identifier) => campaigns.get(identifier)!);
  return {
    on: 'campaigns',
    outcome,
    isNegated: operator === 'is_not_in',
    from: days === undefined ? null : lastDaysOf(days, now).from,
    ids: named ? [...new Set(named.map(({ id }) => id))] : null,
    appIds: named ? [...new Set(named.map((campaign) => campaign.appId))] : [appId],
  };
}

/** Uses the unique indexes of both names. */
async function listCampaignRefs(
  db: Queryable,
  entityId: number,
  keys: readonly string[],
): Promise<Map<string, Pick<Campaign, 'id' | 'appId'>>> {
  if (keys.length === 0) return new Map();
  const rows = readRows<Row<'campaigns', 'id' | 'appId'> & { key: string }>(
    await db.query(
      `SELECT identifier AS key, id, app_id FROM campaigns WHERE entity_id = $1 AND identifier = ANY ($2) AND test_of IS NULL
     UNION ALL SELECT api_identifier, id, app_id FROM campaigns WHERE entity_id = $1 AND api_identifier = ANY ($2)`,
      [entityId, keys],
    ),
  );
  return new Map(rows.map(({ key, id, appId }) => [key, { id, appId }]));
}

function periodOf(period: FilterPeriod, now: Date): { from: Date; until: Date } {
  if ('last_days' in period) return lastDaysOf(period.last_days, now);
  return { from: new Date(period.from), until: new Date(Date.parse(period.till) + DAY_MS) };
}

/** The routes of lists of events, sessions, devices and locations. */

import { z } from 'zod';
import * as api from '../../api/analytics/usage-lists.ts';
import {
  type ListField,
  returnedFields,
  type SegmentMember,
  type UsageListName,
} from '../../domain/analytics/usage-lists.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { parseExactJson } from '../../domain/json/exact-json.ts';
import { findEvent } from '../../store/analytics/find-event.ts';
import { listEarlierIds } from '../../store/analytics/people.ts';
import {
  countUsage,
  findHighestId,
  hasDevice,
  hasUser,
  keysOf,
  listGrouped,
  listUsage,
  listUsagePortions,
  type UsageEntry,
} from '../../store/analytics/usage-lists.ts';
import { listAppIds } from '../../store/apps/apps.ts';
import { findCompleteUntil } from '../../store/core/complete-until.ts';
import type { Queryable } from '../../store/core/database.ts';
import { requireApp } from '../apps/find-app.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { auditEach } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { pageSummary, rowsOf } from '../http/page.ts';
import { JsonText, type Reply, streamedResult } from '../http/reply.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { openSealedCursor } from '../http/sealed-cursor.ts';
import { listHiddenSegments } from './attributes-of-filters.ts';
import {
  type AskedEntries,
  auditedEntries,
  devicesOfApp,
  devicesOfSegment,
  eventFilter,
  eventsOfApp,
  locationsOfApp,
  NO_APP,
  sessionsOfApp,
} from './usage-filters.ts';

type ListQuery = {
  page: number;
  per_page: number;
  fields?: string[] | undefined;
  cursor?: string | undefined;
  received_since?: Date | undefined;
  order?: 'asc' | 'desc' | undefined;
};
type Who = Circumstances & { caller: Caller };

type AskedList<List extends UsageListName> = AskedEntries & { list: List; path: string };

const listAppEvents = route(api.listEvents, async ({ params, query, ...who }, deps) => {
  const { entityId } = who.caller;
  const app = await requireApp(deps.db, entityId, params.app_identifier);
  const asked = await eventsOfApp(deps.db, who.caller, app, query);
  return listPage({ who, query, deps }, { list: 'events', path: `/api/apps/${app.identifier}/events`, ...asked });
});

const viewEvent = route(api.viewEvent, async ({ params, query, ...who }, deps) => {
  const { entityId } = who.caller;
  const { event_identifier: given } = params;
  const app = await requireApp(deps.db, entityId, params.app_identifier);
  const fields = returnedFields('events', query.fields, false);
  const event = /^\d{1,15}$/.test(given) ? await findEvent(deps.db, entityId, app.id, Number(given), fields) : null;
  if (!event) return refuse(404, 'not_found', 'Event not found');
  const { deviceId, userId } = event;
  // An event is of its user; without one, of its device.
  const subject = userId === null ? { devices: [deviceId!] } : { users: [userId] };
  await auditList(deps.db, who, deps, { list: 'events', subject });
  return parseExactJson(event.json) as z.output<typeof api.Event>;
});

const listEventsOfDevice = route(api.listDeviceEvents, async ({ params, query, ...who }, deps) => {
  const { db } = deps;
  const { entityId } = who.caller;
  const { device_identifier: device } = params;
  const app = await requireApp(db, entityId, params.app_identifier);
  if (!(await hasDevice(db, entityId, app.id, device))) refuse(404, 'not_found', 'Device not found');
  const { isGrouped, filter } = eventFilter(query);
  return listPage(
    { who, query, deps },
    {
      list: 'events',
      isGrouped,
      path: `/api/apps/${app.identifier}/devices/${encodeURIComponent(device)}/events`,
      filter: { ...filter, appIds: [app.id], oneOf: { ...filter.oneOf, device_id: [device], user_id: query.user_ids } },
      subject: { devices: [device] },
    },
  );
});

const listEventsOfUser = route(api.listUserEvents, async ({ params, query, ...who }, deps) => {
  const { db } = deps;
  const { entityId } = who.caller;
  const { user_id: user } = params;
  const apps = query.application_ids ? await listAppIds(db, entityId, query.application_ids) : null;
  if (!(await hasUser(db, entityId, user))) refuse(404, 'not_found', 'User not found');
  const { isGrouped, filter } = eventFilter(query);
  const earlier = query.aliases ? await listEarlierIds(db, entityId, user) : [];
  return listPage(
    { who, query, deps },
    {
      list: 'events',
      isGrouped,
      path: `/api/users/${encodeURIComponent(user)}/events`,
      filter: {
        ...filter,
        appIds: apps && [...apps.values()],
        oneOf: { ...filter.oneOf, device_id: query.device_ids },
        person: { userId: user, earlier },
      },
      subject: { users: [...new Set([user, ...earlier.map(({ id }) => id)])] },
    },
  );
});

const listAppSessions = route(api.listSessions, async ({ params, query, ...who }, deps) => {
  const app = await requireApp(deps.db, who.caller.entityId, params.app_identifier);
  return listPage(
    { who, query, deps },
    { list: 'sessions', path: `/api/apps/${app.identifier}/sessions`, ...sessionsOfApp(app, query) },
  );
});

const listAppLocations = route(api.listLocations, async ({ params, query, ...who }, deps) => {
  const app = await requireApp(deps.db, who.caller.entityId, params.app_identifier, NO_APP);
  const path = `/api/apps/${app.identifier}/locations`;
  return listPage({ who, query, deps }, { list: 'locations', path, ...locationsOfApp(app, query) });
});

const listAppDevices = route(api.listDevices, async ({ params, query, ...who }, deps) => {
  const { entityId } = who.caller;
  const app = await requireApp(deps.db, entityId, params.app_identifier, NO_APP);
  const asked = await devicesOfApp(deps.db, who.caller, app, query);
  return listPage({ who, query, deps }, { list: 'devices', path: `/api/apps/${app.identifier}/devices`, ...asked });
});

const listDevicesOfSegment = route(api.listSegmentDevices, async ({ params, query, ...who }, deps) => {
  const asked = await devicesOfSegment(deps.db, who.caller, params.segment_identifier, query);
  return listPage(
    { who, query, deps },
    { list: 'segment_devices', path: `/api/segments/${params.segment_identifier}/devices`, ...asked },
  );
});

const readDevice = route(api.viewDevice, async ({ params, query, ...who }, deps) => {
  const { entityId } = who.caller;
  const { device_identifier: device } = params;
  const app = await requireApp(deps.db, entityId, params.app_identifier, NO_APP);
  const filter = {
    appIds: [app.id],
    oneOf: { device_id: [device] },
    hiddenSegments: await listHiddenSegments(deps.db, who.caller),
  };
  await auditList(deps.db, who, deps, { list: 'devices', subject: { devices: [device] } });
  const fields = returnedFields('devices', query.fields, false);
  const page = { fields, segmentMembers: segmentMembers(query.fields), start: { offset: 0 }, limit: 1 };
  for await (const { json } of listUsage(deps.db, 'devices', entityId, filter, page))
    return JSON.parse(json) as api.Device;
  return refuse(404, 'not_found', 'Device not found');
});

async function listPage<List extends UsageListName>(
  { who, query, deps }: { who: Who; query: ListQuery; deps: RouteDependencies },
  asked: AskedList<List>,
): Promise<Reply> {
  const { entityId } = who.caller;
  const audited = auditList(deps.db, who, deps, asked);
  if (!asked.isGrouped) {
    // Sends nothing before both are done.
    const [reply] = await Promise.all([pageInOrder(query, deps, entityId, asked), audited]);
    return reply;
  }
  await audited;
  return groupedPage(query, deps, entityId, asked);
}

async function auditList(
  db: Queryable,
  who: Who,
  { secrets }: RouteDependencies,
  { list, subject }: Pick<AskedList<UsageListName>, 'list' | 'subject'>,
): Promise<void> {
  await auditEach(
    db,
    who,
    auditedEntries(secrets, who.caller.entityId, list, subject).map((entry) => ({ action: 'read', ...entry })),
  );
}

async function pageInOrder<List extends UsageListName>(
  query: ListQuery,
  deps: RouteDependencies,
  entityId: number,
  { list, path, filter }: AskedList<List>,
): Promise<Reply> {
  const { db, settings } = deps;
  const { per_page: perPage } = query;
  const newestFirst = query.order === 'desc';
  const cursor = query.cursor === undefined ? null : openCursor(deps, entityId, path, query.cursor);
  if (cursor && (cursor.newestFirst ?? false) !== newestFirst)
    refuseField('order', 'must be that of the first page: its navigation.next has it');
  const page = cursor?.page ?? query.page;
  // Before any read: later commits come again the next time.
  const until = query.received_since && !cursor ? { received_until: await findCompleteUntil(db) } : {};
  // Runs while the entries are read.
  const whole = cursor
    ? Promise.resolve([cursor.upTo, cursor.total] as const)
    : Promise.all([findHighestId(db, list), countUsage(db, list, entityId, filter)]);
  whole.catch(() => {}); // if reading the entries has failed first
  const fields = returnedFields(list, query.fields, false) as ListField<List>[];
  const start = cursor ? { after: cursor.after, upTo: cursor.upTo } : rowsOf({ page, per_page: perPage });
  const found = listUsagePortions(db, list, entityId, filter, {
    fields,
    segmentMembers: segmentMembers(query.fields),
    start,
    newestFirst,
    limit: perPage + 1,
  });
  let [count, total, upTo]: [number, number, number | null] = [0, 0, null];
  let [last, next]: [UsageEntry | undefined, string | null] = [undefined, null];
  async function* items(): AsyncGenerator<JsonText> {
    for await (const portion of found) {
      [upTo, total] = await whole;
      const shown = portion.slice(0, perPage - count);
      count += shown.length;
      last = shown.at(-1) ?? last;
      if (portion.length > shown.length)
        next = sealCursor(deps, entityId, path, { total, page: page + 1, upTo, after: keysOf(last!), newestFirst });
      // As one text: waiting for each of a thousand entries takes as long as reading them.
      if (shown.length > 0) yield new JsonText(shown.map(({ json }) => json).join(','));
    }
  }
  return streamedResult('items', items(), {}, () => ({
    ...pageSummary(settings, path, { ...query, page }, { count, total, cursor: next }),
    ...until,
  }));
}

/** The start of the next page, and the number of entries at the first page. */
const Cursor = z.object({
  total: z.int(),
  page: z.int(),
  upTo: z.int().nullable(),
  after: z.array(z.string()).min(1),
  newestFirst: z.boolean().optional(),
});

/** Seals a cursor, since it may hold a device's id and addresses end up in logs. */
function sealCursor(
  { secrets }: RouteDependencies,
  entityId: number,
  path: string,
  cursor: z.output<typeof Cursor>,
): string {
  return secrets.seal(JSON.stringify(cursor), cursorCell(entityId, path));
}

function openCursor(
  { secrets }: RouteDependencies,
  entityId: number,
  path: string,
  given: string,
): z.output<typeof Cursor> {
  return openSealedCursor(secrets, cursorCell(entityId, path), Cursor, given) ?? refuseCursor();
}

function refuseCursor(): never {
  return refuseField('cursor', 'is not a cursor from navigation.next of this list');
}

const cursorCell = (entityId: number, path: string) => ({
  table: 'tracked_lists',
  column: 'next',
  entityId,
  row: path,
});

async function groupedPage(
  query: ListQuery,
  { db, settings }: RouteDependencies,
  entityId: number,
  { path, filter }: AskedList<UsageListName>,
): Promise<Reply> {
  if (query.cursor !== undefined) refuseCursor(); // groups are in pages alone
  // A page at once, so that a slow caller holds no connection.
  const rows = await Array.fromAsync(
    listGrouped(db, entityId, filter, { fields: returnedFields('events', query.fields, true), ...rowsOf(query) }),
  );
  let [total, count] = [0, 0];
  async function* items(): AsyncGenerator<JsonText> {
    for (const row of rows) {
      total = row.total;
      if (row.json === null) continue;
      count += 1;
      yield new JsonText(row.json);
    }
  }
  return streamedResult('items', items(), {}, () => pageSummary(settings, path, query, { count, total }));
}

export const usageListRoutes: Route[] = [
  listAppEvents,
  viewEvent,
  listEventsOfDevice,
  listEventsOfUser,
  listAppSessions,
  listAppDevices,
  readDevice,
  listDevicesOfSegment,
  listAppLocations,
];

const SEGMENT_FORMS: Readonly<Record<string, SegmentMember>> = {
  'segments:name': 'name',
  'segments:description': 'description',
};

function segmentMembers(asked: readonly string[] | undefined): SegmentMember[] {
  const more = new Set(asked?.flatMap((field) => SEGMENT_FORMS[field] ?? []));
  return ['segment_id', ...(['name', 'description'] as const).filter((member) => more.has(member))];
}

import { z } from 'zod';
import * as api from '../../api/analytics/tracked-lists.ts';
import { groupedSince, type ListField, returnedFields, type TrackedListName } from '../../domain/analytics/tracked-lists.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import {
  countTracked, findHighestId, hasDevice, hasUser, listGrouped, listTracked, type TrackedFilter,
} from '../../store/analytics/tracked-lists.ts';
import { listAppIds } from '../../store/apps/apps.ts';
import { type Tx, write } from '../../store/core/database.ts';
import { requireApp } from '../apps/find-app.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit, auditReads } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { pageSummary, rowsOf } from '../http/page.ts';
import { JsonText } from '../http/raw-json.ts';
import { type Reply, streamedResult } from '../http/reply.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { openSealedCursor } from '../http/sealed-cursor.ts';

type ListQuery = { page: number; per_page: number; fields?: string[] | undefined; cursor?: string | undefined };
type Who = Circumstances & { caller: Caller };

/** A list that was asked for: its address, what it holds, and whose data is read: people by id, or an app's as a whole. */
type AskedList<List extends TrackedListName> = {
  list: List;
  path: string;
  filter: TrackedFilter;
  isGrouped?: boolean | undefined;
  subject: { app: string } | { users?: readonly string[] | undefined; devices?: readonly string[] | undefined };
};

const listAppEvents = route(api.listEvents, async ({ params, query, ...who }, deps) => {
  const app = await requireApp(deps.db, who.caller.entityId, params.app_identifier);
  if (query.segment_ids) refuse(404, 'not_found', 'Couldn\'t find Segment');
  const oneOf = { ...eventColumns(query), device_id: query.device_ids, user_id: query.user_ids };
  return listEventsBy({ who, query, deps }, {
    path: `/api/apps/${app.identifier}/events`, filter: { appIds: [app.id], oneOf }, subject: subjectOf(app.identifier, query),
  });
});

const listEventsOfDevice = route(api.listDeviceEvents, async ({ params, query, ...who }, deps) => {
  const { db } = deps;
  const { entityId } = who.caller;
  const { device_identifier: device } = params;
  const app = await requireApp(db, entityId, params.app_identifier);
  if (!await hasDevice(db, entityId, app.id, device)) refuse(404, 'not_found', 'Device not found');
  return listEventsBy({ who, query, deps }, {
    path: `/api/apps/${app.identifier}/devices/${encodeURIComponent(device)}/events`,
    filter: { appIds: [app.id], oneOf: { ...eventColumns(query), device_id: [device], user_id: query.user_ids } },
    subject: { devices: [device] },
  });
});

const listEventsOfUser = route(api.listUserEvents, async ({ params, query, ...who }, deps) => {
  const { db } = deps;
  const { entityId } = who.caller;
  const { user_id: user } = params;
  const apps = query.application_ids ? await listAppIds(db, entityId, query.application_ids) : null;
  if (!await hasUser(db, entityId, user)) refuse(404, 'not_found', 'User not found');
  return listEventsBy({ who, query, deps }, {
    path: `/api/users/${encodeURIComponent(user)}/events`,
    filter: { appIds: apps && [...apps.values()], oneOf: { ...eventColumns(query), device_id: query.device_ids, user_id: [user] } },
    subject: { users: [user] },
  });
});

type EventQuery = ListQuery & {
  since_date?: Date | undefined; until_date?: Date | undefined; group?: boolean | undefined;
  session_ids?: string[] | undefined; names?: string[] | undefined; details?: string[] | undefined;
};

function eventColumns({ session_ids: sessions, names }: EventQuery): TrackedFilter['oneOf'] {
  return { session_id: sessions && idsOf(sessions), name: names };
}

/** Ids that are none are those of nothing. */
function idsOf(given: readonly string[]): number[] {
  return given.filter((id) => /^\d{1,15}$/.test(id)).map(Number);
}

function listEventsBy(
  asked: { who: Who; query: EventQuery; deps: RouteDependencies },
  { path, filter, subject }: Omit<AskedList<'events'>, 'list' | 'isGrouped'>,
): Promise<Reply> {
  const { since_date: since, until_date: until, group: isGrouped, details } = asked.query;
  const period = { since: isGrouped ? groupedSince(since, until, new Date()) : since, until };
  return listPage(asked, { list: 'events', path, subject, isGrouped, filter: { ...filter, ...period, details } });
}

const listAppSessions = route(api.listSessions, async ({ params, query, ...who }, deps) => {
  const app = await requireApp(deps.db, who.caller.entityId, params.app_identifier);
  const oneOf = {
    device_id: query.device_ids, user_id: query.user_ids, app_version: query.app_versions, country: query.countries, lang: query.langs,
  };
  return listPage({ who, query, deps }, {
    list: 'sessions', path: `/api/apps/${app.identifier}/sessions`, subject: subjectOf(app.identifier, query),
    filter: { appIds: [app.id], since: query.since_date, until: query.until_date, oneOf },
  });
});

const listAppLocations = route(api.listLocations, async ({ params, query, ...who }, deps) => {
  const app = await requireApp(deps.db, who.caller.entityId, params.app_identifier, NO_APP);
  const one = (value: number | undefined) => (value === undefined ? undefined : [value]);
  const oneOf = {
    session_id: query.session_ids && idsOf(query.session_ids), device_id: query.device_ids, latitude: one(query.latitude),
    longitude: one(query.longitude),
  };
  return listPage({ who, query, deps }, {
    list: 'locations', path: `/api/apps/${app.identifier}/locations`, subject: subjectOf(app.identifier, query),
    filter: { appIds: [app.id], since: query.since_date, until: query.until_date, oneOf },
  });
});

/** Of lists of locations and devices (reference: Errors). */
const NO_APP = 'Couldn\'t find App';

const listAppDevices = route(api.listDevices, async ({ params, query, ...who }, deps) => {
  const app = await requireApp(deps.db, who.caller.entityId, params.app_identifier, NO_APP);
  if (query.segment_ids) refuse(404, 'not_found', 'Couldn\'t find Segment');
  return listPage({ who, query, deps }, {
    list: 'devices', path: `/api/apps/${app.identifier}/devices`,
    subject: subjectOf(app.identifier, { user_ids: query.current_user_ids, device_ids: query.device_ids }),
    filter: {
      appIds: [app.id], updatedSince: query.updated_since, oneOf: { device_id: query.device_ids, current_user_id: query.current_user_ids },
    },
  });
});

const readDevice = route(api.viewDevice, async ({ params, query, ...who }, deps) => {
  const { entityId } = who.caller;
  const { device_identifier: device } = params;
  const app = await requireApp(deps.db, entityId, params.app_identifier, NO_APP);
  const filter = { appIds: [app.id], oneOf: { device_id: [device] } };
  await write(deps.db, (tx) => auditList(tx, who, deps, { list: 'devices', subject: { devices: [device] } }));
  const page = { fields: returnedFields('devices', query.fields, false), start: { offset: 0 }, limit: 1 };
  for await (const { json } of listTracked(deps.db, 'devices', entityId, filter, page)) return JSON.parse(json) as api.Device;
  return refuse(404, 'not_found', 'Device not found');
});

/** People who are asked for by their ids; else the app as a whole. */
function subjectOf(
  app: string, { user_ids: users, device_ids: devices }: { user_ids?: string[] | undefined; device_ids?: string[] | undefined },
): AskedList<TrackedListName>['subject'] {
  return users || devices ? { users, devices } : { app };
}

async function listPage<List extends TrackedListName>(
  { who, query, deps }: { who: Who; query: ListQuery; deps: RouteDependencies }, asked: AskedList<List>,
): Promise<Reply> {
  await write(deps.db, (tx) => auditList(tx, who, deps, asked));
  return asked.isGrouped ? groupedPage(query, deps, who.caller.entityId, asked) : pageInOrder(query, deps, who.caller.entityId, asked);
}

async function auditList(
  tx: Tx, who: Who, { secrets }: RouteDependencies, { list, subject }: Pick<AskedList<TrackedListName>, 'list' | 'subject'>,
): Promise<void> {
  const details = { what: list };
  if ('app' in subject) return audit(tx, who, { action: 'read', subjectKind: 'app', subject: subject.app, details });
  const hash = (type: 'user_id' | 'device_id') => (id: string) => secrets.customerHash(who.caller.entityId, type, id);
  return auditReads(tx, who, [...(subject.users ?? []).map(hash('user_id')), ...(subject.devices ?? []).map(hash('device_id'))], details);
}

async function pageInOrder<List extends TrackedListName>(
  query: ListQuery, deps: RouteDependencies, entityId: number, { list, path, filter }: AskedList<List>,
): Promise<Reply> {
  const { db, settings } = deps;
  const { per_page: perPage } = query;
  const cursor = query.cursor === undefined ? null : openCursor(deps, entityId, path, query.cursor);
  const page = cursor?.page ?? query.page;
  const upTo = cursor ? cursor.upTo : await findHighestId(db, list);
  const total = cursor?.total ?? await countTracked(db, list, entityId, filter);
  const fields = returnedFields(list, query.fields, false) as ListField<List>[];
  const start = cursor ? { after: cursor.after, upTo } : rowsOf({ page, per_page: perPage });
  const found = listTracked(db, list, entityId, filter, { fields, start, limit: perPage + 1 });
  let [count, last, next]: [number, string[], string | null] = [0, [], null];
  async function* items(): AsyncGenerator<JsonText> {
    for await (const { json, keys } of found) {
      if (count === perPage) {
        next = sealCursor(deps, entityId, path, { total, page: page + 1, upTo, after: last });
        return;
      }
      count += 1;
      last = keys;
      yield new JsonText(json);
    }
  }
  return streamedResult('items', items(), {}, () => pageSummary(settings, path, { ...query, page }, { count, total, cursor: next }));
}

/** Where the next page goes on, and how many entries there were when the first one was asked for. */
const Cursor = z.object({ total: z.int(), page: z.int(), upTo: z.int().nullable(), after: z.array(z.string()).min(1) });

/** Sealed: it may hold a device's id, and addresses end up in logs. */
function sealCursor({ secrets }: RouteDependencies, entityId: number, path: string, cursor: z.output<typeof Cursor>): string {
  return secrets.seal(JSON.stringify(cursor), cursorCell(entityId, path));
}

function openCursor({ secrets }: RouteDependencies, entityId: number, path: string, given: string): z.output<typeof Cursor> {
  return openSealedCursor(secrets, cursorCell(entityId, path), Cursor, given) ?? refuseCursor();
}

function refuseCursor(): never {
  return refuseField('cursor', 'is not a cursor from navigation.next of this list');
}

const cursorCell = (entityId: number, path: string) => ({ table: 'tracked_lists', column: 'next', entityId, row: path });

async function groupedPage(
  query: ListQuery, { db, settings }: RouteDependencies, entityId: number, { path, filter }: AskedList<TrackedListName>,
): Promise<Reply> {
  if (query.cursor !== undefined) refuseCursor();        // groups are in pages alone
  const rows = listGrouped(db, entityId, filter, { fields: returnedFields('events', query.fields, true), ...rowsOf(query) });
  let [total, count] = [0, 0];
  async function* items(): AsyncGenerator<JsonText> {
    for await (const row of rows) {
      total = row.total;
      if (row.json === null) continue;
      count += 1;
      yield new JsonText(row.json);
    }
  }
  return streamedResult('items', items(), {}, () => pageSummary(settings, path, query, { count, total }));
}

export const trackedListRoutes: Route[] = [
  listAppEvents, listEventsOfDevice, listEventsOfUser, listAppSessions, listAppDevices, readDevice, listAppLocations,
];

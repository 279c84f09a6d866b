/** The routes of segments: create, change, list, preview, delete. */

import * as api from '../../api/analytics/segments.ts';
import { sampleError } from '../../domain/analytics/sample-error.ts';
import { eachFilter, type SegmentFilters, showFilters } from '../../domain/analytics/segment-filters.ts';
import { refuse, refuseField, refuseFields } from '../../domain/core/refusal.ts';
import { listFilterUsers } from '../../store/analytics/filter-users.ts';
import { resolveFilters } from '../../store/analytics/resolve-filters.ts';
import { chooseSample, peoplePerSampled } from '../../store/analytics/sample.ts';
import { eventsReadBy } from '../../store/analytics/segment-sql.ts';
import { countFiltered, type FilteredCounts, type SegmentCounts } from '../../store/analytics/segment-counts.ts';
import {
  deleteSegment,
  findCircle,
  findSegment,
  insertSegment,
  lockSegments,
  MAX_SEGMENTS,
  type Segment,
  setUses,
  streamSegments,
  updateSegment,
  updateSegmentFilters,
  wantRefresh,
} from '../../store/analytics/segments.ts';
import { setLabels } from '../../store/apps/labels.ts';
import { isQueryCanceled, type Queryable, type Tx, write } from '../../store/core/database.ts';
import { requireApp } from '../apps/find-app.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { refuseOlderRevision } from '../http/refuse-older-revision.ts';
import { streamedList } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { refreshSegmentsSoon } from '../jobs/start-soon.ts';
import {
  attributesOfFilters,
  keepHidden,
  listHiddenSegments,
  refuseHidden,
  refuseSensitiveUsers,
} from './attributes-of-filters.ts';
import { HEAVY_READ_MS } from './heavy-reads.ts';
import { refuseUsed } from './refuse-used.ts';
import { refuseComputing } from './usage-filters.ts';

const listAll = route(api.listSegments, async ({ query: { app }, ...who }, { db, streamedLists }) => {
  const { entityId } = who.caller;
  const appId = app === undefined ? null : (await requireApp(db, entityId, app, UNKNOWN_APP)).id;
  const show = await showTo(db, who.caller);
  return streamedList(streamedLists.shown(who, streamSegments(db, entityId, appId), (piece) => piece.map(show)));
});

const UNKNOWN_APP = "Couldn't find App";

const view = route(api.viewSegment, async ({ params: { identifier }, caller }, { db }) => {
  const { entityId } = caller;
  const show = await showTo(db, caller);
  const segment = (await findSegment(db, entityId, identifier)) ?? refuseUnknownSegment();
  return { ...show(segment), used_by: await listFilterUsers(db, entityId, [identifier], api.MAX_USERS) };
});

const create = route(api.createSegment, async ({ body, keepReply, log, ...who }, deps) => {
  const { entityId, userId } = who.caller;
  const { name, description = null, static: isStatic, labels = [] } = body;
  const filters =
    filtersOf(body.filters, isStatic) ??
    (isStatic ? null : refuseField('filters', 'is required, unless static is true'));
  const created = await write(
    deps.db,
    async (tx) => {
      await lockSegments(tx, entityId);
      const { id: appId } = await requireApp(tx, entityId, body.app, UNKNOWN_APP);
      const usedIds = filters ? await checkFilters(tx, entityId, appId, filters) : [];
      const { id, identifier } =
        (await insertSegment(tx, entityId, { appId, name, description, filters, createdBy: userId })) ??
        refuse(409, 'too_many', `The entity has ${MAX_SEGMENTS} segments, the most that it may have`);
      await setUses(tx, entityId, id, usedIds);
      if (labels.length > 0) await setLabels(tx, entityId, { kind: 'segment', id }, labels);
      const details = { name, ...(await attributesOfFilters(tx, who.caller, filters)) };
      await audit(tx, who, { action: 'create', subjectKind: 'segment', subject: identifier, details });
      const show = await showTo(tx, who.caller);
      return keepReply(tx, show((await findSegment(tx, entityId, identifier))!));
    },
    { collide: true },
  );
  await refreshSegmentsSoon(deps, log, entityId);
  return created;
});

const update = route(api.updateSegment, async ({ params: { identifier }, body, log, ...who }, deps) => {
  const { entityId } = who.caller;
  const updated = await write(
    deps.db,
    async (tx) => {
      await lockSegments(tx, entityId);
      const segment = (await findSegment(tx, entityId, identifier, { isLocked: true })) ?? refuseUnknownSegment();
      await refuseOlderRevision(tx, entityId, 'segment', segment, body.revision);
      const filters = filtersOf(body.filters, segment.filters === null);
      if (filters) await changeFilters(tx, who.caller, segment, filters);
      const { name = segment.name, description = segment.description } = body;
      await updateSegment(tx, entityId, segment.id, { name, description });
      if (body.labels) await setLabels(tx, entityId, { kind: 'segment', id: segment.id }, body.labels);
      const details = { name, filters: filters !== null, ...(await attributesOfFilters(tx, who.caller, filters)) };
      await audit(tx, who, { action: 'update', subjectKind: 'segment', subject: identifier, details });
      const show = await showTo(tx, who.caller);
      return show((await findSegment(tx, entityId, identifier))!);
    },
    { collide: true },
  );
  await refreshSegmentsSoon(deps, log, entityId);
  return updated;
});

const remove = route(api.deleteSegment, async ({ params: { identifier }, ...who }, { db }) =>
  write(db, async (tx) => {
    const { entityId } = who.caller;
    await lockSegments(tx, entityId);
    const segment = (await findSegment(tx, entityId, identifier, { isLocked: true })) ?? refuseUnknownSegment();
    await refuseUsed(tx, entityId, [identifier]);
    const show = await showTo(tx, who.caller);
    await deleteSegment(tx, entityId, segment.id);
    await audit(tx, who, {
      action: 'delete',
      subjectKind: 'segment',
      subject: identifier,
      details: { name: segment.name },
    });
    return show(segment);
  }),
);

const preview = route(
  api.previewSegment,
  async ({ body: { app, filters, fast, left }, hungUp, ...who }, { db, heavyReads }) => {
    const { entityId } = who.caller;
    const { id: appId } = await requireApp(db, entityId, app, UNKNOWN_APP);
    const { query, segments, failure } = await resolveOrRefuse(db, entityId, appId, filters);
    if (failure !== null) refuse(409, 'failed', failure);
    const waited = segments.find(({ snapshotAt }) => snapshotAt === null);
    if (waited) refuseComputing(waited.identifier);
    const details = await attributesOfFilters(db, who.caller, filters);
    if (details.attributes !== undefined)
      await audit(db, who, { action: 'read', subjectKind: 'segment', details: { app, ...details } });
    const reads = eventsReadBy(query.filters);
    const sample = fast ? await chooseSample(db, entityId, { appIds: [appId], reads, sessions: 1 }) : null;
    const timeoutMs = fast ? api.FAST_PREVIEW_MS : HEAVY_READ_MS;
    const count = async (signal: AbortSignal) => {
      const begun = performance.now();
      const bounds = { timeoutMs, signal, hasLeft: left };
      const counts = await countFiltered(db, entityId, { ...query, sample }, bounds).catch((error: unknown) => {
        if (fast && isQueryCanceled(error) && !signal.aborted) refuseSlow();
        throw error;
      });
      return {
        ...showPreview(counts, filters, sample && peoplePerSampled(sample)),
        took_ms: Math.round(performance.now() - begun),
      };
    };
    return heavyReads.within(who.caller, hungUp(), count, fast ? 'fast' : 'exact');
  },
);

function refuseSlow(): never {
  const seconds = api.FAST_PREVIEW_MS / 1_000;
  return refuse(503, 'too_long', `A fast count would take longer than ${seconds} seconds: count exactly, without fast`);
}

function showPreview({ left, ...counts }: FilteredCounts, filters: SegmentFilters, oneIn: number | null) {
  const times = oneIn ?? 1;
  const margin = (people: number) => (oneIn ? sampleError(people, oneIn) : null);
  const whole = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count * times]));
  return {
    ...showCounts(whole as SegmentCounts),
    sample: oneIn ? { one_in: oneIn, margin: sampleError(counts.peopleCount, oneIn) } : null,
    left:
      left &&
      Array.from(eachFilter(filters), ({ path }, index) => {
        const people = left[index]!;
        return { element: path, people: people * times, margin: margin(people) };
      }),
  };
}

function filtersOf(given: SegmentFilters | undefined, isStatic: boolean): SegmentFilters | null {
  if (!isStatic || given === undefined) return given ?? null;
  return given.blocks.length === 0
    ? null
    : refuseField('filters', 'must have no blocks: a static segment is a list of people');
}

/** Returns the segments that filters name. Refuses unknown names and circles. */
async function checkFilters(tx: Tx, entityId: number, appId: number, filters: SegmentFilters): Promise<number[]> {
  const { segments } = await resolveOrRefuse(tx, entityId, appId, filters);
  return segments.map(({ id }) => id);
}

async function changeFilters(
  tx: Tx,
  caller: Caller,
  { id, appId, name, filters: before }: Segment,
  filters: SegmentFilters,
): Promise<void> {
  const { entityId } = caller;
  const usedIds = await checkFilters(tx, entityId, appId, filters);
  const circle = await findCircle(tx, entityId, id, usedIds);
  if (circle)
    refuseField('filters', `must not name the segment itself by way of others: ${[name, ...circle].join(' → ')}`);
  if (JSON.stringify(before) === JSON.stringify(filters)) return;
  await refuseHidden(tx, caller, id);
  await refuseSensitiveUsers(tx, caller, id);
  await keepHidden(tx, entityId, async () => {
    await updateSegmentFilters(tx, entityId, id, filters);
    await setUses(tx, entityId, id, usedIds);
    await wantRefresh(tx, entityId, id, { isChanged: true });
  });
}

async function resolveOrRefuse(db: Queryable, entityId: number, appId: number, filters: SegmentFilters) {
  const { errors, query, segments, failure } = await resolveFilters(db, entityId, { appId, filters, now: new Date() });
  refuseFields(errors);
  return { query: query!, segments, failure };
}

export function refuseUnknownSegment(): never {
  return refuse(404, 'not_found', "Couldn't find Segment");
}

const NO_COUNTS: SegmentCounts = {
  peopleCount: 0,
  peopleTotal: 0,
  peoplePush: 0,
  reachCount: 0,
  reachOptin: 0,
  reachToken: 0,
  reachTotal: 0,
};
const MIN_AB_PEOPLE = 2;

async function showTo(db: Queryable, caller: Caller): Promise<(segment: Segment) => api.Segment> {
  const hidden = await listHiddenSegments(db, caller);
  return (segment) => showSegment(segment, hidden.includes(segment.id));
}

function showSegment(segment: Segment, isHidden: boolean): api.Segment {
  const { identifier, name, description, appIdentifier, filters, labels, snapshotAt, failure } = segment;
  return {
    identifier,
    name,
    description,
    app: appIdentifier,
    filters: showFilters(filters ?? { operator: 'and', blocks: [] }),
    filters_subs: {},
    eligible_for_ab_testing: !isHidden && snapshotAt !== null && segment.peoplePush >= MIN_AB_PEOPLE,
    snapshot_at: snapshotAt?.toISOString() ?? null,
    ...(isHidden ? { reach: null, preview: null } : showCounts(snapshotAt === null ? NO_COUNTS : segment)),
    labels,
    analytics_enabled: snapshotAt !== null,
    state: stateOf(segment),
    failure,
    static: filters === null,
    last_used_at: segment.lastUsedAt?.toISOString() ?? null,
    revision: segment.revision,
    created_at: segment.createdAt.toISOString(),
    updated_at: segment.updatedAt.toISOString(),
  };
}

function stateOf({ snapshotAt, failure }: Segment): api.Segment['state'] {
  if (failure !== null) return 'failed';
  return snapshotAt === null ? 'computing' : 'active';
}

function showCounts({
  peopleCount,
  peopleTotal,
  peoplePush,
  reachCount,
  reachOptin,
  reachToken,
  reachTotal,
}: SegmentCounts) {
  return {
    reach: { count: reachCount, optin: reachOptin, token: reachToken, total: reachTotal },
    preview: {
      people_number: peopleCount,
      people_percent: percent(peopleCount, peopleTotal),
      push_percent: percent(peoplePush, peopleCount),
    },
  };
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round((10_000 * part) / whole) / 100;
}

export const segmentRoutes: Route[] = [listAll, view, create, update, remove, preview];

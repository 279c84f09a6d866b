/** The routes of a segment's people: lists them and who joined and left, adds people to lists and removes them. */

import { z } from 'zod';
import * as api from '../../api/analytics/segments.ts';
import { customerIdError, type CustomerType } from '../../domain/attributes/customer-id.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { isoOf } from '../../domain/time/iso-time.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { insertChanges, listChanges, listMembers, listSegmentDays } from '../../store/analytics/segment-changes.ts';
import {
  customerOf,
  deleteMembers,
  insertMembers,
  listErasedPeople,
  listPeopleOf,
} from '../../store/analytics/segment-members.ts';
import { findSegment, type Segment, wantRefresh } from '../../store/analytics/segments.ts';
import { type Queryable, type Tx, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit, auditReads } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { openSealedCursor } from '../http/sealed-cursor.ts';
import { refreshSegmentsSoon } from '../jobs/start-soon.ts';
import { refuseHidden, refuseSensitiveUsers } from './attributes-of-filters.ts';
import { hashOf } from './looks.ts';
import { refuseUnknownSegment } from './segments.ts';
import { refuseComputing } from './usage-filters.ts';

type Who = Circumstances & { caller: Caller };

const listPeople = route(api.listSegmentPeople, async ({ params: { identifier }, query, ...who }, deps) => {
  const { entityId } = who.caller;
  const segment = await requireShown(deps.db, who.caller, identifier);
  if (segment.snapshotAt === null) refuseComputing(identifier);
  const after = query.cursor === undefined ? null : openCursor(deps, entityId, 'people', identifier, query.cursor);
  const { page, next } = await write(deps.db, async (tx) => {
    const found = await listMembers(tx, entityId, segment.id, { after, limit: query.per_page + 1 });
    const shown = found.slice(0, query.per_page);
    await auditPage(tx, deps, who, { identifier, list: 'people', people: shown });
    return { page: shown, next: found.length > shown.length ? shown.at(-1)! : null };
  });
  return {
    people: page.map(showPerson),
    as_of: isoOf(segment.snapshotAt),
    next: next && nextOf(deps, entityId, 'people', identifier, query, next),
  };
});

const listAllChanges = route(api.listSegmentChanges, async ({ params: { identifier }, query, ...who }, deps) => {
  const { entityId } = who.caller;
  const segment = await requireShown(deps.db, who.caller, identifier);
  const before =
    query.cursor === undefined ? null : Number(openCursor(deps, entityId, 'changes', identifier, query.cursor));
  const { page, next } = await write(deps.db, async (tx) => {
    const asked = { before, joined: query.joined ?? null, limit: query.per_page + 1 };
    const found = await listChanges(tx, entityId, segment.id, asked);
    const shown = found.slice(0, query.per_page);
    const people = [...new Set(shown.map(({ person }) => person))];
    await auditPage(tx, deps, who, { identifier, list: 'changes', people });
    return { page: shown, next: found.length > shown.length ? String(shown.at(-1)!.id) : null };
  });
  return {
    changes: page.map(({ person, hasJoined, changedAt }) => ({
      ...showPerson(person),
      joined: hasJoined,
      at: changedAt.toISOString(),
    })),
    next: next && nextOf(deps, entityId, 'changes', identifier, query, next),
  };
});

const countDays = route(api.countSegmentDays, async ({ params: { identifier }, query: { days }, caller }, { db }) => {
  const segment = await requireShown(db, caller, identifier);
  const from = new Date(Date.now() - (days - 1) * DAY_MS);
  const found = await listSegmentDays(db, caller.entityId, segment.id, from);
  return found.map(({ day, people, peopleJoined: joined, peopleLeft: left, changesListed: listed }) => ({
    day,
    people,
    joined,
    left,
    listed,
  }));
});

/** Refuses an unknown segment, and one whose people would reveal values that the caller may not read. */
async function requireShown(db: Queryable, caller: Caller, identifier: string): Promise<Segment> {
  const segment = (await findSegment(db, caller.entityId, identifier)) ?? refuseUnknownSegment();
  await refuseHidden(db, caller, segment.id);
  return segment;
}

/** Writes an entry for the page, and one for each person on it. */
async function auditPage(
  tx: Tx,
  { secrets }: RouteDependencies,
  who: Who,
  { identifier, list, people }: { identifier: string; list: string; people: readonly string[] },
): Promise<void> {
  const details = { list, people: people.length };
  await audit(tx, who, { action: 'read', subjectKind: 'segment', subject: identifier, details });
  const hashes = people.map((person) => hashOf(secrets, who.caller.entityId, customerOf(person)));
  await auditReads(tx, who, hashes, { what: `segment ${list}`, segment: identifier });
}

function showPerson(person: string) {
  const { customerType, customerId } = customerOf(person);
  return {
    user_id: customerType === 'user_id' ? customerId : null,
    device_id: customerType === 'device_id' ? customerId : null,
  };
}

type Asked = { per_page: number; joined?: boolean | undefined };

/** Seals the position, which may be a person's id: addresses end up in logs. */
function nextOf(
  { secrets, settings: { publicUrl } }: RouteDependencies,
  entityId: number,
  list: 'people' | 'changes',
  identifier: string,
  { per_page: perPage, joined }: Asked,
  position: string,
): string {
  const query = new URLSearchParams({
    ...(joined !== undefined && { joined: String(joined) }),
    per_page: String(perPage),
    cursor: secrets.seal(JSON.stringify(position), cellOf(entityId, list, identifier)),
  });
  return `${publicUrl}/api/segments/${identifier}/${list}?${query}`;
}

function openCursor(
  { secrets }: RouteDependencies,
  entityId: number,
  list: 'people' | 'changes',
  identifier: string,
  given: string,
): string {
  return (
    openSealedCursor(secrets, cellOf(entityId, list, identifier), z.string(), given) ??
    refuseField('cursor', 'is not a cursor from `next` of this list')
  );
}

const cellOf = (entityId: number, list: string, identifier: string) => ({
  table: 'tracked_lists',
  column: 'next',
  entityId,
  row: `segments/${identifier}/${list}`,
});

const addPeople = route(
  api.addSegmentPeople,
  async ({ params: { identifier }, body, keepReply, log, ...who }, deps) => {
    const { entityId } = who.caller;
    const result = await write(deps.db, async (tx) => {
      const segment = await lockStatic(tx, who.caller, identifier);
      const { people, refused } = await readPeople(tx, deps.secrets, entityId, segment.appId, body);
      const changes = await insertMembers(tx, entityId, segment.id, people);
      const added = changes.joinedCount;
      await insertChanges(tx, deps.secrets, entityId, { segmentId: segment.id, at: new Date() }, changes);
      await wantRefresh(tx, entityId, segment.id);
      await audit(tx, who, { action: 'update', subjectKind: 'segment', subject: identifier, details: { added } });
      return keepReply(tx, { added, already_there: people.length - added, refused });
    });
    await refreshSegmentsSoon(deps, log, entityId);
    return result;
  },
);

const removePeople = route(api.removeSegmentPeople, async ({ params: { identifier }, body, log, ...who }, deps) => {
  const { entityId } = who.caller;
  const result = await write(deps.db, async (tx) => {
    const segment = await lockStatic(tx, who.caller, identifier);
    const { people, refused } = await readPeople(tx, deps.secrets, entityId, segment.appId, body);
    // A device added before the app saw its user may still be a member itself.
    const devices = body.customer_id_type === 'device_id' ? body.ids.map((device) => `d${device}`) : [];
    const changes = await deleteMembers(tx, entityId, segment.id, [...new Set([...people, ...devices])]);
    const removed = Math.min(people.length, changes.leftCount);
    await insertChanges(tx, deps.secrets, entityId, { segmentId: segment.id, at: new Date() }, changes);
    await wantRefresh(tx, entityId, segment.id);
    await audit(tx, who, { action: 'update', subjectKind: 'segment', subject: identifier, details: { removed } });
    return { removed, not_there: people.length - removed, refused };
  });
  await refreshSegmentsSoon(deps, log, entityId);
  return result;
});

async function lockStatic(tx: Tx, caller: Caller, identifier: string): Promise<Segment> {
  const segment = (await findSegment(tx, caller.entityId, identifier, { isLocked: true })) ?? refuseUnknownSegment();
  if (segment.filters !== null)
    refuse(409, 'not_static', 'The segment has filters: only a static segment takes people');
  await refuseSensitiveUsers(tx, caller, segment.id);
  return segment;
}

type Refused = { index: number; code: 'INVALID_CUSTOMER_ID'; message: string };
type Given = { ids: string[]; customer_id_type: CustomerType };

/** Returns each person of these ids once, in order of the members' key, without invalid ids and erased people. */
async function readPeople(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  appId: number,
  { ids, customer_id_type: type }: Given,
): Promise<{ people: string[]; refused: Refused[] }> {
  const refused: Refused[] = [];
  const sound: { id: string; index: number }[] = [];
  for (const [index, id] of ids.entries()) {
    const message = customerIdError(id);
    if (message === undefined) sound.push({ id, index });
    else refused.push({ index, code: 'INVALID_CUSTOMER_ID', message });
  }
  const given = sound.map(({ id }) => id);
  const people = await listPeopleOf(tx, entityId, appId, type, given);
  // A device may belong to an erased person, or be erased itself.
  const own = type === 'device_id' ? given.map((id) => `d${id}`) : people;
  const erased = await listErasedPeople(tx, secrets, entityId, [...people, ...own]);
  const living: string[] = [];
  for (const [nth, { index }] of sound.entries()) {
    if (erased.has(people[nth]!) || erased.has(own[nth]!))
      refused.push({ index, code: 'INVALID_CUSTOMER_ID', message: 'erased' });
    else living.push(people[nth]!);
  }
  return { people: [...new Set(living)].sort(), refused: refused.toSorted((one, other) => one.index - other.index) };
}

export const segmentPeopleRoutes: Route[] = [listPeople, listAllChanges, countDays, addPeople, removePeople];

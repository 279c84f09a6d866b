/** The routes that add people to static segments, and remove them. */

import * as api from '../../api/analytics/segments.ts';
import { customerIdError } from '../../domain/attributes/customer-id.ts';
import type { CustomerType } from '../../domain/attributes/customer-id.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { deleteMembers, insertMembers, listErasedPeople, listPeopleOf } from '../../store/analytics/segment-members.ts';
import { lockSegment, type Segment, wantRefresh } from '../../store/analytics/segments.ts';
import { type Tx, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { type Route, route } from '../http/route.ts';
import { refreshSegmentsSoon } from '../jobs/start-soon.ts';
import { refuseSensitiveUsers } from './attributes-of-filters.ts';
import { refuseUnknownSegment } from './segments.ts';

const add = route(api.addSegmentPeople, async ({ params: { identifier }, body, keepReply, log, ...who }, deps) => {
  const { entityId } = who.caller;
  const result = await write(deps.db, async (tx) => {
    const segment = await lockStatic(tx, who.caller, identifier);
    const { people, refused } = await readPeople(tx, deps.secrets, entityId, segment.appId, body);
    const added = await insertMembers(tx, entityId, segment.id, people);
    await wantRefresh(tx, entityId, segment.id);
    await audit(tx, who, { action: 'update', subjectKind: 'segment', subject: identifier, details: { added } });
    return keepReply(tx, { added, already_there: people.length - added, refused });
  });
  await refreshSegmentsSoon(deps, log, entityId);
  return result;
});

const remove = route(api.removeSegmentPeople, async ({ params: { identifier }, body, log, ...who }, deps) => {
  const { entityId } = who.caller;
  const result = await write(deps.db, async (tx) => {
    const segment = await lockStatic(tx, who.caller, identifier);
    const { people, refused } = await readPeople(tx, deps.secrets, entityId, segment.appId, body);
    // A device that was added before the app saw its user may still be a member itself.
    const devices = body.customer_id_type === 'device_id' ? body.ids.map((device) => `d${device}`) : [];
    const removed = Math.min(
      people.length,
      await deleteMembers(tx, entityId, segment.id, [...new Set([...people, ...devices])]),
    );
    await wantRefresh(tx, entityId, segment.id);
    await audit(tx, who, { action: 'update', subjectKind: 'segment', subject: identifier, details: { removed } });
    return { removed, not_there: people.length - removed, refused };
  });
  await refreshSegmentsSoon(deps, log, entityId);
  return result;
});

async function lockStatic(tx: Tx, caller: Caller, identifier: string): Promise<Segment> {
  const segment = (await lockSegment(tx, caller.entityId, identifier)) ?? refuseUnknownSegment();
  if (segment.filters !== null)
    refuse(409, 'not_static', 'The segment has filters: only a static segment takes people');
  await refuseSensitiveUsers(tx, caller, segment.id);
  return segment;
}

type Refused = { index: number; code: 'INVALID_CUSTOMER_ID'; message: string };
type Given = { ids: string[]; customer_id_type: CustomerType };

/** Returns the people of these ids, each once, in order of the members' key, without invalid ids and erased people. */
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

export const segmentPeopleRoutes: Route[] = [add, remove];

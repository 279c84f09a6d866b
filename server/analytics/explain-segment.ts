/** The route that says why a person is in a segment, or is not. */

import * as api from '../../api/analytics/people.ts';
import type { Right } from '../../domain/accounts/rights.ts';
import { PERSON_PARTS } from '../../domain/analytics/person.ts';
import { type SegmentFilter, showMet } from '../../domain/analytics/segment-filters.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { isoOf } from '../../domain/time/iso-time.ts';
import { resolveFilters } from '../../store/analytics/resolve-filters.ts';
import { hasMember, matchPerson } from '../../store/analytics/segment-match.ts';
import { listFoundValues } from '../../store/analytics/segment-values.ts';
import { findSegment, type Segment } from '../../store/analytics/segments.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';
import type { RouteDependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { route } from '../http/route.ts';
import { refuseHidden } from './attributes-of-filters.ts';
import { HEAVY_READ_MS } from './heavy-reads.ts';
import { auditLook, openLook, sealLook } from './looks.ts';
import { requirePerson } from './people.ts';

export const explainSegment = route(api.explainSegment, async ({ body, ...who }, deps) => {
  const { db, secrets } = deps;
  const { entityId } = who.caller;
  const person = requirePerson(body);
  const segment =
    (await findSegment(db, entityId, body.segment_id)) ?? refuse(404, 'not_found', "Couldn't find Segment");
  await refuseHidden(db, who.caller, segment.id);
  const given = body.look === undefined ? null : openLook(secrets, entityId, person, body.look);
  const look = await auditLook(deps, who, person, 'segment', given);
  const now = new Date();
  const explained = await explain(deps, who.caller, { segment, person, now, hungUp: who.hungUp() });
  return {
    segment_id: segment.identifier,
    name: segment.name,
    app_id: segment.appIdentifier,
    static: segment.filters === null,
    member: await hasMember(db, entityId, segment, person),
    as_of: isoOf(segment.snapshotAt),
    operator: segment.filters?.operator ?? 'and',
    ...explained,
    at: now.toISOString(),
    look: sealLook(secrets, entityId, person, look),
  };
});

type Explained = Pick<api.ExplainedSegment, 'found' | 'counts_as' | 'blocks' | 'reason'>;
const UNSAID: Explained = { found: null, counts_as: null, blocks: null, reason: null };

type Asked = { segment: Segment; person: Person; now: Date; hungUp: AbortSignal };

/** The right to what a person has of a filter's subject. */
const RIGHT_TO_VALUES: Record<SegmentFilter['filter_on'], Right> = {
  attributes: PERSON_PARTS.attributes,
  devices: PERSON_PARTS.devices,
  events: PERSON_PARTS.events,
  segments: PERSON_PARTS.segments,
  funnels: PERSON_PARTS.events,
  campaigns: PERSON_PARTS.messages,
};

/** Says of each filter whether the person meets it, as a refresh would find it at this moment. */
async function explain(
  { db, heavyReads }: RouteDependencies,
  caller: Caller,
  { segment: { appId, filters }, person, now, hungUp }: Asked,
): Promise<Explained> {
  const { entityId, rights } = caller;
  if (filters === null) return UNSAID;
  const { errors, query, segments, failure } = await resolveFilters(db, entityId, {
    appId,
    filters,
    now,
    isStored: true,
  });
  const waited = segments.find(({ snapshotAt }) => snapshotAt === null);
  if (errors[0]) return { ...UNSAID, reason: `${errors[0].element}: ${errors[0].message}` };
  if (failure !== null) return { ...UNSAID, reason: failure };
  if (waited) return { ...UNSAID, reason: `The segment "${waited.name}", which its filters name, has no members yet` };
  const match = await heavyReads.within(caller, hungUp, async (signal) => {
    const bounds = { timeoutMs: HEAVY_READ_MS, signal };
    const matched = await matchPerson(db, entityId, query!, person, bounds);
    if (matched === null) return null;
    const isShown = (on: SegmentFilter['filter_on']) => rights.has(RIGHT_TO_VALUES[on]);
    return { ...matched, found: await listFoundValues(db, entityId, query!, matched.person, { isShown, ...bounds }) };
  });
  if (match === null)
    return { ...UNSAID, reason: 'The app has not seen this person: a segment holds people of its app' };
  const id = match.person.slice(1);
  return {
    found: match.isFound,
    counts_as: match.person.startsWith('u') ? { user_id: id, device_id: null } : { user_id: null, device_id: id },
    blocks: showMet(filters, match.met, match.found),
    reason: null,
  };
}

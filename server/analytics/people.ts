/** The routes of people: finds them, and shows one. */

import * as api from '../../api/analytics/people.ts';
import type { Right } from '../../domain/accounts/rights.ts';
import { PERSON_MATCHES, PERSON_PARTS, type PersonPart } from '../../domain/analytics/person.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { ATTEMPT_CODES } from '../../domain/sends/attempt.ts';
import { decideDevice } from '../../domain/sends/device-decision.ts';
import { isoOf } from '../../domain/time/iso-time.ts';
import {
  findPeopleById,
  findPeopleByValue,
  type FoundPerson,
  isKnownPerson,
  joinPeople,
} from '../../store/analytics/find-people.ts';
import {
  type Counted,
  countMessagesOfPerson,
  countOfPerson,
  countValuesOfPerson,
  listDevicesOfPerson,
  listLinkedIds,
  listRequestsOfPerson,
  listSegmentsOfPerson,
  MAX_OF_PERSON,
  type PersonDevice,
} from '../../store/analytics/person.ts';
import { isQueryCanceled } from '../../store/core/database.ts';
import { listHolds } from '../../store/gdpr/holds.ts';
import { findRaisedAt, type Person } from '../../store/gdpr/tombstones.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { audit, auditReads } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { type Route, route } from '../http/route.ts';
import { personAsked } from '../gdpr/person-asked.ts';
import { listHiddenSegments } from './attributes-of-filters.ts';
import { auditLook, hashOf, sealLook } from './looks.ts';

const VALUES_MS = 10_000;

const find = route(api.findPeople, async ({ body, hungUp, ...who }, deps) => {
  const { db, secrets } = deps;
  const { entityId } = who.caller;
  refuseWithoutParts(who.caller);
  const ways = new Set(body.match ?? PERSON_MATCHES);
  const most = body.limit + 1;
  const byId = await findPeopleById(db, entityId, body.text, ways, most);
  const byValue: { people: FoundPerson[]; left: api.LeftOut[] } = ways.has('attribute')
    ? await findByValue(deps, who.caller, body.text, most, hungUp())
    : { people: [], left: [] };
  const found = joinPeople([...byId, ...byValue.people]);
  const people = found.slice(0, body.limit);
  const details = { what: 'find', people: people.length };
  if (people.length === 0) await audit(db, who, { action: 'read', subjectKind: 'customer', details });
  else
    await auditReads(
      db,
      who,
      people.map((person) => hashOf(secrets, entityId, person)),
      details,
    );
  return { people: people.map(showFound), more: found.length > people.length, left_out: byValue.left };
});

async function findByValue(
  { db, heavyReads }: RouteDependencies,
  caller: Caller,
  text: string,
  limit: number,
  hungUp: AbortSignal,
): Promise<{ people: FoundPerson[]; left: api.LeftOut[] }> {
  if (!caller.rights.has(PERSON_PARTS.attributes))
    return { people: [], left: [lackOf('attribute', PERSON_PARTS.attributes)] };
  return heavyReads.within(caller, hungUp, async (signal) => {
    try {
      const people = await findPeopleByValue(db, caller.entityId, text, { limit, timeoutMs: VALUES_MS, signal });
      return { people, left: [] };
    } catch (error) {
      if (!isQueryCanceled(error)) throw error;
      const reason = `The values are too many to search in ${VALUES_MS / 1_000} seconds: search for a user or device id`;
      return { people: [], left: [{ part: 'attribute', right: null, reason }] };
    }
  });
}

export const lackOf = (part: string, right: Right): api.LeftOut => ({
  part,
  right,
  reason: `This needs the right ${right}`,
});

/** Refuses a caller who may see no part of a person. */
function refuseWithoutParts({ rights }: Caller): void {
  const needed = [...new Set(Object.values(PERSON_PARTS))];
  if (!needed.some((right) => rights.has(right)))
    refuse(403, 'forbidden', `This needs one of the rights ${needed.join(', ')}`);
}

function showFound({ customerType, customerId, matches }: FoundPerson): api.FoundPerson {
  return {
    user_id: customerType === 'user_id' ? customerId : null,
    device_id: customerType === 'device_id' ? customerId : null,
    matches: matches.map(({ by, sorIdentifier, attributeKey }) => ({
      by,
      sor_id: sorIdentifier,
      attribute_key: attributeKey,
    })),
  };
}

const view = route(api.viewPerson, async ({ body, ...who }, deps) => {
  const { db, secrets } = deps;
  const person = requirePerson(body);
  refuseWithoutParts(who.caller);
  const look = await auditLook(deps, who, person, 'person', null);
  const { parts, leftOut } = await partsOf(deps, who.caller, person);
  const known = await isKnownPerson(db, who.caller.entityId, person);
  return { known, look: sealLook(secrets, who.caller.entityId, person, look), ...parts, left_out: leftOut };
});

export function requirePerson(body: { user_id?: string | undefined; device_id?: string | undefined }): Person {
  return personAsked(body, 'the page is of one person') ?? refuseField('user_id', 'is required, or device_id');
}

type Parts = Pick<api.Person, PersonPart>;

/** Reads the parts that the caller may see, one after the other: a page holds one session. */
async function partsOf(
  deps: RouteDependencies,
  caller: Caller,
  person: Person,
): Promise<{ parts: Parts; leftOut: api.LeftOut[] }> {
  const parts: Partial<Record<PersonPart, unknown>> = {};
  const leftOut: api.LeftOut[] = [];
  for (const [part, right] of Object.entries(PERSON_PARTS) as [PersonPart, Right][]) {
    parts[part] = caller.rights.has(right) ? await READERS[part](deps, caller, person) : null;
    if (!caller.rights.has(right)) leftOut.push(lackOf(part, right));
  }
  for (const [part, list] of Object.entries(parts) as [PersonPart, unknown][]) {
    if (!Array.isArray(list) || list.length <= MAX_OF_PERSON) continue;
    parts[part] = list.slice(0, MAX_OF_PERSON);
    leftOut.push({ part, right: null, reason: `There are more than ${MAX_OF_PERSON}: these are the first` });
  }
  return { parts: parts as Parts, leftOut };
}

type Reader<Part extends PersonPart> = (
  deps: RouteDependencies,
  caller: Caller,
  person: Person,
) => Promise<NonNullable<api.Person[Part]>>;

const READERS: { [Part in PersonPart]: Reader<Part> } = {
  identifiers: async ({ db }, { entityId }, person) =>
    (await listLinkedIds(db, entityId, person)).map(({ customerId, link, origin, appIdentifier, since }) => ({
      user_id: customerId,
      link,
      origin,
      app_id: appIdentifier,
      since: since.toISOString(),
    })),
  devices: async ({ db }, { entityId }, person) =>
    (await listDevicesOfPerson(db, entityId, person)).map((device) => showDevice(device, person)),
  events: async ({ db }, { entityId }, person) => showCount(await countOfPerson(db, entityId, 'events', person)),
  sessions: async ({ db }, { entityId }, person) => showCount(await countOfPerson(db, entityId, 'sessions', person)),
  segments: async ({ db }, caller, person) =>
    (await listSegmentsOfPerson(db, caller.entityId, person, await listHiddenSegments(db, caller))).map(
      ({ identifier, name, appIdentifier, snapshotAt }) => ({
        segment_id: identifier,
        name,
        app_id: appIdentifier,
        as_of: isoOf(snapshotAt),
      }),
    ),
  attributes: async ({ db }, { entityId }, person) =>
    (await countValuesOfPerson(db, entityId, person)).map(({ sorIdentifier, name, values, changedAt }) => ({
      sor_id: sorIdentifier,
      name,
      values,
      changed_at: changedAt.toISOString(),
    })),
  messages: async ({ db }, { entityId }, person) => {
    const { confirmed, ...counted } = await countMessagesOfPerson(db, entityId, person);
    return { ...showCount(counted), confirmed };
  },
  requests: async ({ db }, { entityId }, person) =>
    (await listRequestsOfPerson(db, entityId, person)).map(({ identifier, type, state, personState, receivedAt }) => ({
      request_id: identifier,
      request_type: type,
      state,
      person_state: personState,
      received_at: receivedAt.toISOString(),
    })),
  holds: async ({ db }, { entityId }, person) =>
    (await listHolds(db, entityId, person, { offset: 0, limit: MAX_OF_PERSON + 1 })).holds.map(
      ({ identifier, kind, reason, createdAt }) => ({
        hold_id: identifier,
        kind,
        reason,
        created_at: createdAt.toISOString(),
      }),
    ),
  erasure: async ({ db, secrets }, { entityId }, person) => ({
    erased_at: isoOf(await findRaisedAt(db, entityId, [hashOf(secrets, entityId, person)])),
  }),
};

function showCount({ count, firstAt, lastAt }: Counted) {
  return { count, first_at: isoOf(firstAt), last_at: isoOf(lastAt) };
}

/** Shows a device with what a transactional push to it would become. */
function showDevice(device: PersonDevice, { customerType, customerId }: Person) {
  const userId = customerType === 'user_id' ? customerId : device.currentUserId;
  const push = { type: 'transactional', includesPush: true, includesInapp: false } as const;
  const decided = decideDevice(device, userId, push, { verifiedUsers: device.requiresVerified });
  const isVouched = userId !== null && device.verifiedUserId === userId;
  return {
    device_id: device.deviceId,
    app_id: device.appIdentifier,
    origin: isVouched ? ('vouched' as const) : ('claimed' as const),
    push: {
      reaches: decided.push,
      code: decided.push ? null : decided.code,
      reason: decided.push ? null : (decided.details ?? ATTEMPT_CODES[decided.code]),
    },
    current_user_id: device.currentUserId,
    app_version: device.appVersion,
    os_version: device.osVersion,
    device_model: device.deviceModel,
    device_type: device.deviceType,
    first_seen_at: device.firstSeenAt.toISOString(),
    last_seen_at: device.lastSeenAt.toISOString(),
  };
}

export const peopleRoutes: Route[] = [find, view];

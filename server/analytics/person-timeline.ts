/** The routes of a person's timeline and messages, in pages that one look covers. */

import { z } from 'zod';
import * as api from '../../api/analytics/people.ts';
import { readPositionCursor, writePositionCursor } from '../../api/core/page.ts';
import { TIMELINE_KINDS, type TimelineKind } from '../../domain/analytics/person.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { ATTEMPT_CODES, messageIdOf } from '../../domain/sends/attempt.ts';
import { parseExactJson } from '../../domain/json/exact-json.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { isoOf } from '../../domain/time/iso-time.ts';
import {
  countDaysOfPerson,
  listMessagesOfPerson,
  listTimeline,
  type MessageOfPerson,
  type PersonEvent,
  type TimelineEntry,
  type TimelinePosition,
} from '../../store/analytics/person-timeline.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';
import type { RouteDependencies } from '../dependencies.ts';
import type { Caller } from '../http/caller.ts';
import { type Circumstances, type Route, route } from '../http/route.ts';
import { auditLook, type Look, openLook, sealLook } from './looks.ts';
import { lackOf, requirePerson } from './people.ts';

const timeline = route(api.viewTimeline, async ({ body, ...who }, deps) => {
  const { entityId } = who.caller;
  const person = requirePerson(body);
  const { kinds, leftOut } = allowedKinds(who.caller, body.kinds);
  const { after, look } = await openPage(deps, who, person, body, 'timeline');
  const found = await listTimeline(deps.db, entityId, person, kinds, { after, limit: body.per_page + 1 });
  const shown = found.slice(0, body.per_page);
  const next = found.length > shown.length ? writeCursor(shown.at(-1)!) : null;
  return {
    entries: shown.map(showEntry),
    next,
    look: sealLook(deps.secrets, entityId, person, look),
    left_out: leftOut,
  };
});

/** Returns the kinds that the caller may see of those asked for, and why not the others. */
function allowedKinds(
  { rights }: Caller,
  given: readonly TimelineKind[] = Object.keys(TIMELINE_KINDS) as TimelineKind[],
): { kinds: Set<TimelineKind>; leftOut: api.LeftOut[] } {
  const asked = [...new Set(given)];
  const kinds = new Set(asked.filter((kind) => rights.has(TIMELINE_KINDS[kind])));
  const leftOut = asked.filter((kind) => !kinds.has(kind)).map((kind) => lackOf(kind, TIMELINE_KINDS[kind]));
  if (kinds.size === 0) refuse(403, 'forbidden', leftOut[0]!.reason);
  return { kinds, leftOut };
}

const days = route(api.countPersonDays, async ({ body, ...who }, deps) => {
  const { entityId } = who.caller;
  const person = requirePerson(body);
  const { kinds, leftOut } = allowedKinds(who.caller, body.kinds);
  const { look } = await openPage(deps, who, person, { look: body.look }, 'days');
  const last = Date.parse(body.until ?? new Date().toISOString().slice(0, 10));
  const [from, before] = [new Date(last - (body.days - 1) * DAY_MS), new Date(last + DAY_MS)];
  return {
    days: await countDaysOfPerson(deps.db, entityId, person, kinds, { from, before }),
    look: sealLook(deps.secrets, entityId, person, look),
    left_out: leftOut,
  };
});

const messages = route(api.listPersonMessages, async ({ body, ...who }, deps) => {
  const { entityId } = who.caller;
  const person = requirePerson(body);
  const { after, look } = await openPage(deps, who, person, body, 'messages');
  if (after && after.kind !== 'message') refuseCursor();
  const found = await listMessagesOfPerson(deps.db, entityId, person, { before: after, limit: body.per_page + 1 });
  const shown = found.slice(0, body.per_page);
  const next = found.length > shown.length ? writeCursor({ kind: 'message', ...shown.at(-1)! }) : null;
  return { messages: shown.map(showMessage), next, look: sealLook(deps.secrets, entityId, person, look) };
});

type Asked = { look?: string | undefined; cursor?: string | undefined; until?: Date | undefined };

/** Returns where the page begins, and the look that covers it. */
async function openPage(
  deps: RouteDependencies,
  who: Circumstances & { caller: Caller },
  person: Person,
  { look: given, cursor, until }: Asked,
  what: string,
): Promise<{ after: TimelinePosition | null; look: Look }> {
  const after = cursor === undefined ? startAt(until) : readCursor(cursor);
  const known = given === undefined ? null : openLook(deps.secrets, who.caller.entityId, person, given);
  return { after, look: await auditLook(deps, who, person, what, known) };
}

/** Returns the position before every entry of the next microsecond: entries of the moment itself count. */
function startAt(until: Date | undefined): TimelinePosition | null {
  return until === undefined ? null : { micros: until.getTime() * 1_000 + 1_000, kind: 'request', id: 0 };
}

const Cursor = z.tuple([z.int(), z.enum(Object.keys(TIMELINE_KINDS) as [TimelineKind]), z.int().min(0)]);

/** Holds no id of a person: it need not be sealed. */
function writeCursor({ micros, kind, id }: TimelinePosition): string {
  return writePositionCursor([micros, kind, id]);
}

function readCursor(given: string): TimelinePosition {
  const [micros, kind, id] = readPositionCursor(Cursor, given) ?? refuseCursor();
  return { micros, kind, id };
}

function refuseCursor(): never {
  return refuseField('cursor', 'is not a cursor from `next`');
}

function showEntry(entry: TimelineEntry): api.TimelineEntry {
  switch (entry.kind) {
    case 'session': {
      const { id, at, endedAt, seconds, events, count } = entry;
      return {
        kind: 'session',
        ...placeOf(entry),
        at: at.toISOString(),
        session_id: String(id),
        ended_at: endedAt.toISOString(),
        duration: seconds,
        app_version: entry.appVersion,
        os_version: entry.osVersion,
        device_model: entry.deviceModel,
        events: events.map(showEvent),
        event_count: count,
      };
    }
    case 'event':
      return { kind: 'event', ...showEvent(entry) };
    case 'message':
      return { kind: 'message', ...showMessage(entry) };
    case 'attribute':
      return {
        kind: 'attribute',
        at: entry.at.toISOString(),
        sor_id: entry.sorIdentifier,
        attribute_key: entry.key,
        value_type: entry.valueType,
        removed: entry.isRemoved,
        value: entry.isRemoved ? null : entry.value,
        elements: entry.isRemoved ? null : entry.elements,
      };
    case 'request':
      return {
        kind: 'request',
        at: entry.at.toISOString(),
        request_id: entry.identifier,
        request_type: entry.type,
        state: entry.state,
        person_state: entry.personState,
      };
  }
}

type OnDevice = { appIdentifier: string; deviceId: string | null; userId: string | null };

function placeOf({ appIdentifier, deviceId, userId }: OnDevice) {
  return { app_id: appIdentifier, device_id: deviceId, user_id: userId };
}

function showEvent(event: PersonEvent) {
  const { id, at, logType, name, detail } = event;
  return {
    ...placeOf(event),
    at: at.toISOString(),
    event_id: String(id),
    log_type: logType,
    name,
    detail: detail === null ? null : (parseExactJson(detail) as z.core.util.JSONType),
  };
}

function showMessage(message: MessageOfPerson): api.MessageOfPerson {
  const { id, code, deliveredAt, openedAt, shownAt, clickedAt } = message;
  return {
    ...placeOf(message),
    at: message.at.toISOString(),
    message_id: messageIdOf(id),
    request_id: message.sendIdentifier,
    campaign_id: message.campaignIdentifier,
    campaign_name: message.campaignName,
    campaign_type: message.campaignType,
    is_test: message.isTest,
    channel: message.channel,
    variant: message.variant,
    code,
    reason: ATTEMPT_CODES[code],
    details: message.details,
    due_at: isoOf(message.dueAt),
    settled_at: isoOf(message.settledAt),
    confirmed: [deliveredAt, openedAt, shownAt, clickedAt].some((at) => at !== null),
    delivered_at: isoOf(deliveredAt),
    opened_at: isoOf(openedAt),
    shown_at: isoOf(shownAt),
    clicked_at: isoOf(clickedAt),
  };
}

export const personTimelineRoutes: Route[] = [timeline, days, messages];

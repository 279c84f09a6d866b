/** When a campaign to an audience sends, by zone, and when a dynamic one looks for people and notifies them. */

import { DAY_MS, HOUR_MS, MINUTE_MS } from '../time/durations.ts';
import { dayAt, type ZoneClock, zoneClock } from '../time/date-value.ts';
import type { NotifLimit, Recurrence } from './campaign-body.ts';
import type { CampaignType } from './campaign-status.ts';
import { localMoment } from './local-time.ts';

export type SendSchedule = {
  /** Null: at the launch. */
  startDate: Date | null;
  adaptTz: boolean;
  appZone: string;
} &
  /** `endDate` is null if there is none, or if it has no effect, as for pushes only. */
  ({ type: 'classic'; endDate: Date | null } | { type: 'dynamic'; endDate: Date; recurrence: Recurrence });

/** Returns a campaign's schedule. A classic one of pushes only ignores its end (reference: Campaign body). */
export function scheduleOf({
  type,
  startDate,
  endDate,
  adaptTz,
  appTimezone: appZone,
  recurrence,
  includesInapp,
}: {
  type: CampaignType;
  startDate: Date | null;
  endDate: Date | null;
  adaptTz: boolean;
  appTimezone: string;
  recurrence: Recurrence | null;
  includesInapp: boolean;
}): SendSchedule {
  const shared = { startDate, adaptTz, appZone };
  return type === 'dynamic'
    ? { ...shared, type, endDate: endDate!, recurrence: recurrence! }
    : { ...shared, type: 'classic', endDate: includesInapp ? endDate : null };
}

/** The launch, or now for a draft; and the time from which the plan begins. */
type PlanStart = { launchedAt: Date; from: Date };

export type ZoneDevices = { zone: string; devices: number | null };

export type PlannedSend = {
  at: Date;
  /** Messages leave as people enter the audience, until before this; null: all at `at`. */
  until: Date | null;
  /** The names of the zones whose devices get it then; null: all devices. */
  zones: string[] | null;
  /** Null for a dynamic campaign, whose audience is unknown before, and if devices are not counted. */
  devices: number | null;
};

type SendPlan = { sends: PlannedSend[]; hasMore: boolean };

/** Returns the first `limit` sends from `from` on, in order of time; zones with the same moment share an entry. */
export function sendPlan(
  schedule: SendSchedule,
  audience: readonly ZoneDevices[],
  start: PlanStart,
  limit: number,
): SendPlan {
  const sends: PlannedSend[] = [];
  for (const {
    window: { from: at, until },
    groups,
  } of inOrder(schedule, groupsOf(schedule, audience), start)) {
    if (sends.length === limit) return { sends, hasMore: true };
    const zones = schedule.adaptTz ? Array.from(new Set(groups.map(({ zone }) => zone))).sort() : null;
    sends.push({ at, until, zones, devices: schedule.type === 'classic' ? sumOf(groups) : null });
  }
  return { sends, hasMore: false };
}

/** Yields when a campaign sends to devices in `zone`, which counts with `adaptTz` only: once, or in its windows. */
export function* windowsOf(
  schedule: SendSchedule,
  zone: string,
  { launchedAt, from }: PlanStart,
): Generator<SendWindow, undefined> {
  const start = laterOf(schedule.startDate ?? launchedAt, launchedAt);
  if (schedule.type === 'dynamic') {
    const { recurrence, adaptTz, appZone, endDate } = schedule;
    yield* windowsBetween(recurrence, adaptTz ? zone : (recurrence.timezone ?? appZone), laterOf(start, from), endDate);
    return;
  }
  // A start in the past still gives the hour of the day.
  const { startDate, adaptTz, appZone, endDate } = schedule;
  const at = adaptTz ? localMoment(startDate ?? launchedAt, appZone, zone, launchedAt) : start;
  if (at >= from && (endDate === null || at < endDate)) yield { from: at, until: null };
}

/**
 * Returns the send of a dynamic campaign that is under way or comes next, null after the last. With `adaptTz` by the
 * clocks of the app's zone: other zones have it earlier or later.
 */
export function currentSend(
  schedule: SendSchedule,
  { launchedAt, now }: { launchedAt: Date; now: Date },
): SendWindow | null {
  // Windows are clipped to this time, and the open one began within a day.
  const from = new Date(now.getTime() - DAY_MS);
  for (const window of windowsOf(schedule, schedule.appZone, { launchedAt, from }))
    if ((window.until ?? window.from) > now) return window;
  return null;
}

function groupsOf({ adaptTz, appZone }: SendSchedule, audience: readonly ZoneDevices[]): readonly ZoneDevices[] {
  return adaptTz ? audience : [{ zone: appZone, devices: sumOf(audience) }];
}

function sumOf(groups: readonly ZoneDevices[]): number | null {
  return groups.reduce<number | null>(
    (sum, { devices }) => (sum === null || devices === null ? null : sum + devices),
    0,
  );
}

type Head = { group: ZoneDevices; window: SendWindow; windows: Iterator<SendWindow, undefined> };

function* inOrder(
  schedule: SendSchedule,
  groups: readonly ZoneDevices[],
  start: PlanStart,
): Generator<{ window: SendWindow; groups: ZoneDevices[] }> {
  let heads = groups.flatMap((group) => headOf(group, windowsOf(schedule, group.zone, start)));
  while (heads.length > 0) {
    const { window } = heads.reduce((first, head) => (compareWindows(head.window, first.window) < 0 ? head : first));
    const isFirst = (head: Head) => compareWindows(head.window, window) === 0;
    yield { window, groups: heads.filter(isFirst).map(({ group }) => group) };
    heads = heads.flatMap((head) => (isFirst(head) ? headOf(head.group, head.windows) : [head]));
  }
}

function headOf(group: ZoneDevices, windows: Iterator<SendWindow, undefined>): Head[] {
  const { value: window } = windows.next();
  return window === undefined ? [] : [{ group, window, windows }];
}

function compareWindows(one: SendWindow, other: SendWindow): number {
  const lengthOf = ({ from, until }: SendWindow) => (until ?? from).getTime() - from.getTime();
  return one.from.getTime() - other.from.getTime() || lengthOf(one) - lengthOf(other);
}

function laterOf(one: Date, other: Date): Date {
  return one > other ? one : other;
}

/** A window for sending: from one instant until before another, or exactly at `from` if `until` is null. */
export type SendWindow = { from: Date; until: Date | null };

export function nextWindow(recurrence: Recurrence, zone: string, after: Date, until: Date): SendWindow | null {
  return windowsBetween(recurrence, zone, after, until).next().value ?? null;
}

/**
 * Yields the windows of a dynamic campaign on the recurrence's days in `zone` (reference: Dynamic campaign extra
 * fields): with a start only, exactly then; with start and end, between both; with neither, the whole day. Windows are
 * clipped to [`after`, `until`). A time that the clocks skip is the end of the gap; of two, the first. A period within
 * a gap and a day that a zone skips are left out.
 */
export function* windowsBetween(
  recurrence: Recurrence,
  zone: string,
  after: Date,
  until: Date,
): Generator<SendWindow, undefined> {
  const clock = zoneClock(zone);
  // A day more at both ends: around midnight a change of clocks moves times to the next day, or a day's begin.
  const last = dayAt(clock, until.getTime()) + DAY_MS;
  for (let day = dayAt(clock, after.getTime()) - DAY_MS; day <= last; day += DAY_MS) {
    if (!recurrence.day_of_week.includes(new Date(day).getUTCDay())) continue;
    const window = windowOn(day, recurrence, clock);
    const clipped = window && clip(window, after, until);
    if (clipped) yield clipped;
  }
}

/** Returns the window of a day, not clipped yet. A period that the clocks skip is empty. */
function windowOn(day: number, { start_time: start, end_time: end }: Recurrence, clock: ZoneClock): SendWindow | null {
  const instantOf = ({ hour, min }: { hour: number; min: number }) =>
    new Date(clock.instantOf(day + hour * HOUR_MS + min * MINUTE_MS, { gap: 'end' }));
  const midnight = instantOf({ hour: 0, min: 0 });
  const nextMidnight = instantOf({ hour: 24, min: 0 });
  if (midnight >= nextMidnight) return null; // a skipped day, such as 30 December 2011 in Samoa
  const from = start ? instantOf(start) : midnight;
  if (start && !end) return { from, until: null };
  return { from, until: end ? instantOf(end) : nextMidnight };
}

function clip({ from, until: ends }: SendWindow, after: Date, until: Date): SendWindow | null {
  if (ends === null) return from >= after && from < until ? { from, until: null } : null;
  const clipped = { from: from < after ? after : from, until: ends < until ? ends : until };
  return clipped.from < clipped.until ? clipped : null;
}

/** How often a dynamic campaign looks at its audience while a window is open. */
export const LOOK_EVERY_MS = 60_000;

/** How late a message may be after its exact time: a message for the morning is not one for the afternoon. */
export const EXACT_WITHIN_MS = HOUR_MS;
/** How often the next look is found anew: devices may come to a new zone, and the app's zone may change. */
const FIND_EVERY_MS = { adaptTz: 600_000, appZone: HOUR_MS };

type LookClock = { launchedAt: Date; lookedAt: Date | null; now: Date };

/** Returns the window in which a look now sends: an open one, or the last exact time since the last look. */
export function dueWindow(
  schedule: SendSchedule,
  zone: string,
  { launchedAt, lookedAt, now }: LookClock,
): SendWindow | null {
  let due: SendWindow | null = null;
  for (const window of windowsOf(schedule, zone, { launchedAt, from: afterLook(lookedAt, launchedAt) })) {
    if (window.from > now) break;
    if (isOpen(window, now)) due = window;
  }
  return due;
}

function isOpen({ from, until }: SendWindow, now: Date): boolean {
  return until === null ? now.getTime() - from.getTime() <= EXACT_WITHIN_MS : until > now;
}

/** Returns when to look next in any of these zones, or to find that anew: between `soonest` and `end`. */
export function nextLookIn(
  schedule: SendSchedule,
  zones: readonly string[],
  clock: LookClock,
  { soonest, end }: { soonest: Date; end: Date },
): Date {
  const looks = zones.flatMap((zone) => nextLook(schedule, zone, clock)?.getTime() ?? []);
  const next = Math.min(...looks, clock.now.getTime() + FIND_EVERY_MS[schedule.adaptTz ? 'adaptTz' : 'appZone']);
  return new Date(Math.min(Math.max(next, soonest.getTime()), end.getTime()));
}

export function nextLook(schedule: SendSchedule, zone: string, { launchedAt, lookedAt, now }: LookClock): Date | null {
  const from = afterLook(lookedAt, launchedAt);
  const soonest = new Date((lookedAt ?? launchedAt).getTime() + (lookedAt === null ? 0 : LOOK_EVERY_MS));
  for (const window of windowsOf(schedule, zone, { launchedAt, from })) {
    if (!isOpen(window, now)) continue;
    if (window.until === null) return window.from;
    const at = window.from > soonest || lookedAt === null ? window.from : soonest;
    if (at < window.until) return at;
  }
  return null;
}

/** Returns from when windows count: a look covers everything up to its time. */
function afterLook(lookedAt: Date | null, launchedAt: Date): Date {
  return lookedAt === null ? launchedAt : new Date(lookedAt.getTime() + 1);
}

export type Known = { isMember: boolean; notified: number; lastNotifiedAt: Date | null; lastWindow: Date | null };

/** Returns whether to notify a person now (reference: Dynamic campaign extra fields); in a period, newcomers only. */
export function isNotified(known: Known | null, { from, until }: SendWindow, limit: NotifLimit, now: Date): boolean {
  if (known === null) return mayNotify(limit, { count: 0, lastAt: null }, now);
  const isDue = until === null ? known.lastWindow === null || known.lastWindow < from : !known.isMember;
  return isDue && mayNotify(limit, { count: known.notified, lastAt: known.lastNotifiedAt }, now);
}

type Notified = { count: number; lastAt: Date | null };

/** Returns whether a user may get another notification: `maximum` in all, `interval` hours after the last. */
export function mayNotify({ maximum, interval }: NotifLimit, { count, lastAt }: Notified, now: Date): boolean {
  if (maximum !== undefined && count >= maximum) return false;
  return interval === undefined || lastAt === null || now.getTime() - lastAt.getTime() >= interval * HOUR_MS;
}

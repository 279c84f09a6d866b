/** When a dynamic campaign looks at its audience, and who is notified then. */

import { HOUR_MS } from '../time/durations.ts';
import type { NotifLimit } from './campaign-body.ts';
import type { SendWindow } from './recurrence.ts';
import { type SendSchedule, windowsOf } from './send-plan.ts';

/** How often a dynamic campaign looks at its audience while a window is open. */
export const LOOK_EVERY_MS = 60_000;

/** How late a message may be after its exact time: a message for the morning is not one for the afternoon. */
export const EXACT_WITHIN_MS = HOUR_MS;
/** How often the next look is found anew: devices may come to a new zone, and the app's zone may change. */
const FIND_EVERY_MS = { adaptTz: 600_000, appZone: HOUR_MS };

/** `lookedAt`: the time of the last look; null before the first. */
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

/** Returns whether messages of a window that has begun may still be sent. */
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

/** Returns when to look next in a zone; null: never again. */
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

/** The state of a person before a look. */
export type Known = { isMember: boolean; notified: number; lastNotifiedAt: Date | null; lastWindow: Date | null };

/**
 * Returns whether a person in the audience is notified now (reference: Dynamic campaign extra fields): at an exact time
 * each person once; in a period those who were not in the audience at the last look; in both cases as often as `limit`
 * allows.
 */
export function isNotified(known: Known | null, { from, until }: SendWindow, limit: NotifLimit, now: Date): boolean {
  if (known === null) return mayNotify(limit, { count: 0, lastAt: null }, now);
  const isDue = until === null ? known.lastWindow === null || known.lastWindow < from : !known.isMember;
  return isDue && mayNotify(limit, { count: known.notified, lastAt: known.lastNotifiedAt }, now);
}

/** The notifications that a user got of a campaign. */
type Notified = { count: number; lastAt: Date | null };

/** Returns whether a user may get another notification: `maximum` in all, `interval` hours after the last. */
export function mayNotify({ maximum, interval }: NotifLimit, { count, lastAt }: Notified, now: Date): boolean {
  if (maximum !== undefined && count >= maximum) return false;
  return interval === undefined || lastAt === null || now.getTime() - lastAt.getTime() >= interval * HOUR_MS;
}

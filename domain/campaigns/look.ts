import { HOUR_MS } from '../time/durations.ts';
import type { NotifLimit } from './campaign-body.ts';
import type { SendWindow } from './recurrence.ts';
import { type SendSchedule, windowsOf } from './send-plan.ts';

/** While a window is open, a dynamic campaign looks so often who has entered its audience. */
export const LOOK_EVERY_MS = 60_000;

/**
 * What could not go within so long after its exact time does not go: a message for the morning is not one for the
 * afternoon.
 */
export const EXACT_WITHIN_MS = HOUR_MS;
/**
 * Devices may come to a zone in which there were none, and the app's zone may change: the next look is found anew so
 * often.
 */
const FIND_EVERY_MS = { adaptTz: 600_000, appZone: HOUR_MS };

/** `lookedAt`: of the last look; null: there was none. */
type LookClock = { launchedAt: Date; lookedAt: Date | null; now: Date };

/**
 * The window of a zone in which a look now sends: one that is open, or an exact time that has come since the last look.
 * Of several exact times since the last look, the last counts.
 */
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

/** Whether what belongs to a window that has begun still goes. */
function isOpen({ from, until }: SendWindow, now: Date): boolean {
  return until === null ? now.getTime() - from.getTime() <= EXACT_WITHIN_MS : until > now;
}

/** When to look next in any of these zones, or to find that anew: from `soonest` to `end`. */
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

/** When to look next for people of a zone; null: never again. */
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

/** A look stands for all that came up to its moment. */
function afterLook(lookedAt: Date | null, launchedAt: Date): Date {
  return lookedAt === null ? launchedAt : new Date(lookedAt.getTime() + 1);
}

/** What a look knows of a person. */
export type Known = { isMember: boolean; notified: number; lastNotifiedAt: Date | null; lastWindow: Date | null };

/**
 * Whether a person in the audience gets a notification now (reference: Dynamic campaign extra fields): at an exact time
 * each of them, once; in a period those who were not in the audience at the last look; in each case as often as `limit`
 * allows.
 */
export function isNotified(known: Known | null, { from, until }: SendWindow, limit: NotifLimit, now: Date): boolean {
  if (known === null) return mayNotify(limit, { count: 0, lastAt: null }, now);
  const isDue = until === null ? known.lastWindow === null || known.lastWindow < from : !known.isMember;
  return isDue && mayNotify(limit, { count: known.notified, lastAt: known.lastNotifiedAt }, now);
}

/** What a user got of a campaign so far. */
type Notified = { count: number; lastAt: Date | null };

/** Whether a user may get one more notification: `maximum` of them in all, `interval` hours after the last. */
export function mayNotify({ maximum, interval }: NotifLimit, { count, lastAt }: Notified, now: Date): boolean {
  if (maximum !== undefined && count >= maximum) return false;
  return interval === undefined || lastAt === null || now.getTime() - lastAt.getTime() >= interval * HOUR_MS;
}

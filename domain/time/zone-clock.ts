import { IANAZone, type Zone } from 'luxon';
import { writeDatetime } from './date-value.ts';
import { DAY_MS, MINUTE_MS } from './durations.ts';

/** What the clocks of a time zone show, and when. Times on clocks are in ms too, as if the clocks were UTC's. */
export type ZoneClock = {
  /** How far the clocks are ahead of UTC at an instant. */
  offsetAt(instant: number): number;
  /** What the clocks show at an instant. */
  timeAt(instant: number): number;
  /** When they show a time: the first of two such instants, and by the rule for a time that they skip. */
  instantOf(time: number, rule: { gap: GapRule }): number;
};

/**
 * The instant of a time that clocks skip as they go forward: `end` is that of the change; `later` reads the time with
 * the offset from before, so that it comes later by as much as they skip (RFC 5545, 3.3.5).
 */
type GapRule = 'end' | 'later';

/** The clocks of a zone that `isTimeZone` knows, or that Luxon has read. */
export function zoneClock(zone: string | Zone = 'UTC'): ZoneClock {
  const offsetAt = zone === 'UTC' ? () => 0 : remembered(offsetsOf(zone));
  return {
    offsetAt,
    timeAt: (instant) => instant + offsetAt(instant),
    instantOf: (time, { gap }) => firstInstantOf(time, offsetAt, gap),
  };
}

type OffsetAt = ZoneClock['offsetAt'];

/** Rounded: Luxon counts in minutes, and local mean times have seconds. */
function offsetsOf(named: string | Zone): OffsetAt {
  const zone = typeof named === 'string' ? IANAZone.create(named) : named;
  return (instant) => Math.round(zone.offset(instant) * MINUTE_MS);
}

/** Maximum number of remembered days: 27 years. */
const MAX_DAYS = 10_000;

/** To ask takes Intl several µs. In no zone do clocks change twice in a day: four days apart is the least so far. */
function remembered(offsetAt: OffsetAt): OffsetAt {
  const days = new Map<number, number | null>();
  return (instant) => {
    const day = Math.floor(instant / DAY_MS);
    let offset = days.get(day);
    if (offset === undefined) {
      const atStart = offsetAt(day * DAY_MS);
      offset = atStart === offsetAt((day + 1) * DAY_MS) ? atStart : null;
      if (days.size >= MAX_DAYS) days.clear();
      days.set(day, offset);
    }
    return offset ?? offsetAt(instant);
  };
}

function firstInstantOf(time: number, offsetAt: OffsetAt, gap: GapRule): number {
  // No zone is a day away from UTC: these lie before and after the instant, whichever it is.
  const offsetBefore = offsetAt(time - DAY_MS);
  const early = time - offsetBefore;
  if (offsetAt(early) === offsetBefore) return early;
  const offsetAfter = offsetAt(time + DAY_MS);
  const late = time - offsetAfter;
  if (offsetAt(late) === offsetAfter) return late;
  return gap === 'later' ? early : changeWithin(late, early, offsetAt);
}

/** The instant at which the offset changes, after `from` and by `until`: clocks change at whole minutes. */
function changeWithin(from: number, until: number, offsetAt: OffsetAt): number {
  let [before, after] = [Math.floor(from / MINUTE_MS), Math.floor(until / MINUTE_MS)];
  const offset = offsetAt(from);
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetAt(middle * MINUTE_MS) === offset) before = middle;
    else after = middle;
  }
  return after * MINUTE_MS;
}

/** Midnight of the day that the clocks show at an instant, as if they were UTC's. */
export function dayAt({ timeAt }: ZoneClock, instant: number): number {
  return Math.floor(timeAt(instant) / DAY_MS) * DAY_MS;
}

/** A time as it was written: `local` where it says no zone, in ms as if it were UTC. */
export type WrittenTime = { kind: 'instant' | 'local'; ms: number };

/** YYYY-MM-DD as the clocks show it; of a local time its own day. Undefined outside the years 0001 to 9999. */
export function dayIn({ timeAt }: ZoneClock, { kind, ms }: WrittenTime): string | undefined {
  return writeDatetime(kind === 'local' ? ms : timeAt(ms))?.slice(0, 'YYYY-MM-DD'.length);
}

/** In UTC. Undefined outside the years 0001 to 9999. */
export function datetimeIn({ instantOf }: ZoneClock, { kind, ms }: WrittenTime): string | undefined {
  return writeDatetime(kind === 'local' ? instantOf(ms, { gap: 'later' }) : ms);
}

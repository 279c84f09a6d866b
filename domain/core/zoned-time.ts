import { IANAZone, type Zone } from 'luxon';
import { writeDatetime } from './date-value.ts';

/** A time as it was written: `local` where it says no zone, in ms as if it were UTC. */
export type WrittenTime = { kind: 'instant' | 'local'; ms: number };

/** How far a zone's clocks are ahead of UTC at an instant; both in ms. */
export type OffsetAt = (instantMs: number) => number;

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** So many days are remembered: 27 years. */
const MAX_DAYS = 10_000;

/** The offsets of a zone that `isTimeZone` knows; of UTC when left out. */
export function offsetsIn(zoneName = 'UTC'): OffsetAt {
  return zoneName === 'UTC' ? () => 0 : remembered(offsetsOf(IANAZone.create(zoneName)));
}

/** Rounded: Luxon counts in minutes, and local mean times have seconds. */
export function offsetsOf(zone: Zone): OffsetAt {
  return (instantMs) => Math.round(zone.offset(instantMs) * MINUTE);
}

/** To ask takes Intl several µs. In no zone do clocks change twice in a day: four days apart is the least so far. */
function remembered(offsetAt: OffsetAt): OffsetAt {
  const days = new Map<number, number | null>();
  return (instantMs) => {
    const day = Math.floor(instantMs / DAY);
    let offset = days.get(day);
    if (offset === undefined) {
      const atStart = offsetAt(day * DAY);
      offset = atStart === offsetAt((day + 1) * DAY) ? atStart : null;
      if (days.size >= MAX_DAYS) days.clear();
      days.set(day, offset);
    }
    return offset ?? offsetAt(instantMs);
  };
}

/** YYYY-MM-DD, where those offsets are; of a local time its own day. Undefined outside the years 0001 to 9999. */
export function dayIn(offsetAt: OffsetAt, { kind, ms }: WrittenTime): string | undefined {
  return writeDatetime(kind === 'local' ? ms : ms + offsetAt(ms))?.slice(0, 'YYYY-MM-DD'.length);
}

/** In UTC. Undefined outside the years 0001 to 9999. */
export function datetimeIn(offsetAt: OffsetAt, { kind, ms }: WrittenTime): string | undefined {
  return writeDatetime(kind === 'local' ? toInstant(offsetAt, ms) : ms);
}

/**
 * The instant of a local time. Of one that comes twice, as clocks go back, it is the first; one that clocks leave out
 * as they go forward is read with the offset from before, so that it comes out later by what they leave out (RFC 5545,
 * 3.3.5). Luxon's own choice of the two hangs on the offset of today.
 */
export function toInstant(offsetAt: OffsetAt, localMs: number): number {
  // No offset is over 15 hours: a day earlier is before the change, a day later after it.
  const before = offsetAt(localMs - DAY);
  const instant = localMs - before;
  if (offsetAt(instant) === before) return instant;
  const after = offsetAt(localMs + DAY);
  return offsetAt(localMs - after) === after ? localMs - after : instant;
}

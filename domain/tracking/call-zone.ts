import { isTimeZone } from '../core/time-zone.ts';
import { type OffsetAt, offsetsIn } from '../core/zoned-time.ts';

const MINUTE_MS = 60_000;
const FIXED = /^(?:GMT|UTC)?(?<sign>[+-])(?<hours>\d{1,2}):?(?<minutes>\d{2})?$/;

/** More than there are zones: what is none is remembered, too. */
const MAX_ZONES = 2_000;
const zones = new Map<string, OffsetAt | null>();

/**
 * Minutes east of UTC of a `context.timezone` at an instant: a zone of the IANA database, or a fixed offset as Android
 * writes one, such as GMT+02:00. Null for what is none.
 */
export function utcOffsetOf(timezone: unknown, instantMs: number): number | null {
  if (typeof timezone !== 'string' || timezone.length > 64) return null;
  if (timezone === 'GMT' || timezone === 'UTC') return 0;
  const fixed = FIXED.exec(timezone)?.groups;
  if (fixed !== undefined) return fixedOffset(fixed);
  const offsetAt = zoneNamed(timezone);
  return offsetAt === null ? null : Math.round(offsetAt(instantMs) / MINUTE_MS);
}

function fixedOffset({ sign, hours, minutes = '0' }: Record<string, string | undefined>): number | null {
  const offset = Number(hours) * 60 + Number(minutes);
  if (Number(hours) > 14 || Number(minutes) > 59) return null;
  return sign === '-' && offset > 0 ? -offset : offset;
}

/**
 * Remembered: to ask takes Intl some 50 µs. Zones are read in any case, but made once, by their proper name: Luxon keeps
 * each spelling that it was ever asked for, with 60 KB.
 */
function zoneNamed(name: string): OffsetAt | null {
  if (!/^[A-Z]/.test(name)) return null;
  const spelled = name.toLowerCase();
  let offsetAt = zones.get(spelled);
  if (offsetAt === undefined) {
    offsetAt = isTimeZone(name) ? offsetsIn(properName(name)) : null;
    if (zones.size >= MAX_ZONES) zones.clear();
    zones.set(spelled, offsetAt);
  }
  return offsetAt;
}

function properName(zone: string): string {
  return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
}

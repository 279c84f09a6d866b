import { isTimeZone } from '../core/time-zone.ts';
import { type OffsetAt, offsetsIn } from '../core/zoned-time.ts';

const MINUTE_MS = 60_000;
const FIXED = /^(?:GMT|UTC)?(?<sign>[+-])(?<hours>\d{1,2}):?(?<minutes>\d{2})?$/;

/** More than there are zones: what is none is remembered, too. */
const MAX_ZONES = 2_000;
type Zone = { name: string; offsetAt: OffsetAt };
const zones = new Map<string, Zone | null>();

/**
 * Minutes east of UTC of a `context.timezone` at an instant: a zone of the IANA database, or a fixed offset as Android
 * writes one, such as GMT+02:00. Null for what is none.
 */
export function utcOffsetOf(timezone: unknown, instantMs: number): number | null {
  if (typeof timezone !== 'string' || timezone.length > 64) return null;
  if (timezone === 'GMT' || timezone === 'UTC') return 0;
  const fixed = FIXED.exec(timezone)?.groups;
  if (fixed !== undefined) return fixedOffset(fixed);
  const zone = zoneNamed(timezone);
  return zone && Math.round(zone.offsetAt(instantMs) / MINUTE_MS);
}

/**
 * The name of a zone of the IANA database in its proper case, by which its clocks are known on other days, too; null
 * for what is none.
 */
export function zoneNameOf(timezone: unknown): string | null {
  return typeof timezone === 'string' && timezone.length <= 64 && !FIXED.test(timezone)
    ? (zoneNamed(timezone)?.name ?? null)
    : null;
}

function fixedOffset({ sign, hours, minutes = '0' }: Record<string, string | undefined>): number | null {
  const offset = Number(hours) * 60 + Number(minutes);
  if (Number(hours) > 14 || Number(minutes) > 59) return null;
  return sign === '-' && offset > 0 ? -offset : offset;
}

/**
 * Remembered: to ask takes Intl some 50 µs. Zones are read in any case, but made once, by their proper name: Luxon
 * keeps each spelling that it was ever asked for, with 60 KB.
 */
function zoneNamed(name: string): Zone | null {
  if (!/^[A-Z]/.test(name)) return null;
  const spelled = name.toLowerCase();
  let zone = zones.get(spelled);
  if (zone === undefined) {
    const proper = isTimeZone(name) ? properName(name) : null;
    zone = proper === null ? null : { name: proper, offsetAt: offsetsIn(proper) };
    if (zones.size >= MAX_ZONES) zones.clear();
    zones.set(spelled, zone);
  }
  return zone;
}

/**
 * Returns the zone's name as the IANA database spells it, in one spelling for each name. Intl answers with the older of
 * two names, such as Asia/Calcutta for Asia/Kolkata: the name stays the device's own, and the case of its letters alone
 * changes.
 */
function properName(zone: string): string {
  const proper = new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  const [one, other] = [zone.toLowerCase(), proper.toLowerCase()];
  return one === other
    ? proper
    : one.replaceAll(/[a-z0-9+]+/g, (word) => WORDS[word] ?? word[0]!.toUpperCase() + word.slice(1));
}

/** Words of names that are spelled in another way than with one capital letter. */
const WORDS: Record<string, string> = Object.fromEntries(
  [
    'of',
    'es',
    'au',
    'US',
    'UTC',
    'UCT',
    'GMT',
    'ACT',
    'LHI',
    'NSW',
    'DeNoronha',
    'ComodRivadavia',
    'EasterIsland',
    'BajaNorte',
    'BajaSur',
  ].map((word) => [word.toLowerCase(), word]),
);

/** Local times: the zone of a device, and the moment when its clock shows a campaign's time. */

import { DAY_MS } from '../time/durations.ts';
import { isTimeZone } from '../time/time-zone.ts';
import { zoneClock } from '../time/date-value.ts';

/** A device's zone: its name in the IANA database, and its minutes east of UTC. */
type DeviceZone = { timezone: string | null; utcOffsetMinutes: number | null };

const MAX_OFFSET_MINUTES = 15 * 60;

/**
 * Returns a device's named zone, else its offset, such as `+05:30`, else `fallback`. Postgres reads the sign of an
 * offset the other way round. Intl takes some 80 µs: call this for each distinct pair.
 */
export function zoneOf({ timezone, utcOffsetMinutes: offset }: DeviceZone, fallback: string): string {
  if (timezone !== null && isTimeZone(timezone)) return timezone;
  if (offset === null || !Number.isInteger(offset) || Math.abs(offset) >= MAX_OFFSET_MINUTES) return fallback;
  return offset === 0 ? 'UTC' : offsetName(offset);
}

export function zonesOfDevices(fallback: string): (device: DeviceZone) => string {
  const known = new Map<string, string>();
  return (device) => {
    const key = `${device.timezone} ${device.utcOffsetMinutes}`;
    const zone = known.get(key) ?? zoneOf(device, fallback);
    known.set(key, zone);
    return zone;
  };
}

function offsetName(offset: number): string {
  const [hours, minutes] = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60].map((part) =>
    String(part).padStart(2, '0'),
  );
  return `${offset < 0 ? '-' : '+'}${hours}:${minutes}`;
}

/**
 * Returns when clocks of `zone` show the day and time of `start` in `homeZone` (reference: Campaign body, adapt_tz). A
 * skipped time is the end of the gap; of two the first, or `start` itself. Before `notBefore`, the launch, it is the
 * same time of the next day, as with OneSignal: no device is left out.
 */
export function localMoment(start: Date, homeZone: string, zone: string, notBefore: Date): Date {
  const clock = zoneClock(zone);
  const time = zoneClock(homeZone).timeAt(start.getTime());
  const moment = clock.timeAt(start.getTime()) === time ? start.getTime() : clock.instantOf(time, { gap: 'end' });
  if (moment >= notBefore.getTime()) return new Date(moment);
  const daysPassed = Math.floor((clock.timeAt(notBefore.getTime()) - time) / DAY_MS);
  for (let next = time + daysPassed * DAY_MS; ; next += DAY_MS) {
    const instant = clock.instantOf(next, { gap: 'end' });
    if (instant >= notBefore.getTime()) return new Date(instant);
  }
}

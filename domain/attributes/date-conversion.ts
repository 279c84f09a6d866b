import { isDate, readDatetime, saysZone } from '../core/date-value.ts';
import { readNumber } from '../core/number-value.ts';
import { datetimeIn, dayIn, type WrittenTime, zoneClock } from '../core/zone-clock.ts';
import { formatReader } from './date-format.ts';

/**
 * `format`: Luxon's tokens, `unix` (seconds since 1970) or `unix_ms`; without one, what Date and Datetime attributes
 * take. `zone`: an IANA name, UTC when left out.
 */
export type DateConversion = { as: 'date' | 'datetime'; format?: string; zone?: string };

/**
 * Reads texts into YYYY-MM-DD, or ISO in UTC with milliseconds; what is smaller is cut. `zone` is that of times that
 * say none, and the one whose day counts where a date is made of a time that says its own. A date becomes the midnight
 * at which it begins there. Of a local time that comes twice, as clocks go back, the first is taken; one that they
 * leave out as they go forward is read with the offset from before. Undefined where the text is no such date or time.
 */
export function dateReader({ as, format, zone }: DateConversion): (text: string) => string | undefined {
  const read = timeReader(format);
  const written = as === 'date' ? dayIn : datetimeIn;
  const clock = zoneClock(zone);
  return (text) => {
    const time = read(text);
    return time && written(clock, time);
  };
}

/** What a text was expected to be, for the message of one that isn't. */
export function sayExpectedDate({ as, format }: DateConversion): string {
  switch (format) {
    case undefined:
      return 'a date as YYYY-MM-DD, or a date and time in ISO 8601';
    case 'unix':
      return 'a time in seconds since 1970';
    case 'unix_ms':
      return 'a time in milliseconds since 1970';
    default:
      return `a ${as} written as ${format}`;
  }
}

function timeReader(format: string | undefined): (text: string) => WrittenTime | undefined {
  switch (format) {
    case undefined:
      return readIso;
    case 'unix':
      return (text) => readUnix(text, 3);
    case 'unix_ms':
      return (text) => readUnix(text, 0);
    default:
      return formatReader(format);
  }
}

function readIso(text: string): WrittenTime | undefined {
  if (isDate(text)) return { kind: 'local', ms: Date.parse(`${text}T00:00:00.000Z`) };
  const datetime = readDatetime(text);
  return datetime === undefined ? undefined : { kind: saysZone(text) ? 'instant' : 'local', ms: Date.parse(datetime) };
}

/** The point is moved in the text: a double would not have the milliseconds of 1700000000.001. */
function readUnix(text: string, decimals: number): WrittenTime | undefined {
  const reading = readNumber(text);
  if (!reading.ok) return undefined;
  const [whole, fraction = ''] = reading.value.split('.');
  return { kind: 'instant', ms: Number(`${whole}${fraction.padEnd(decimals, '0').slice(0, decimals)}`) };
}

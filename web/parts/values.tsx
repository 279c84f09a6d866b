/** Values as pages show them: whole numbers, shares, instants in the person's zone, ids that can be copied. */
import { DAY_MS } from '../../domain/time/durations.ts';
import { useState } from 'react';
import { useSettings } from '../session/settings.ts';
import { Icon } from './icon.tsx';

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 20 });
const oneDecimal = new Intl.NumberFormat('en', { minimumFractionDigits: 1, maximumFractionDigits: 1 });

export const countText = (value: number | bigint): string => whole.format(value);

/** Shows a number whole, however large it is. */
export function Count({ value }: { value: number | bigint }) {
  return <span className="n">{countText(value)}</span>;
}

/** Returns a share with one decimal, such as `24.0 %`; a dash of nothing. */
export const percentText = (part: number, whole: number): string =>
  whole === 0 ? '–' : `${oneDecimal.format((100 * part) / whole)} %`;

/** Shows a share and the whole that it is a part of. */
export function Percent({ part, whole, of }: { part: number; whole: number; of: string }) {
  return (
    <>
      <span className="n">{percentText(part, whole)}</span> of {of}
    </>
  );
}

/** Returns bytes in MB, below 0.1 MB in bytes. */
export function bytesText(bytes: number): string {
  return bytes < 100_000 ? `${countText(bytes)} bytes` : `${oneDecimal.format(bytes / 1_000_000)} MB`;
}

/** Returns a duration as `2 d 3 h`, `4 h 05 m`, `3 m 05 s` or `12.3 s`. */
export function durationText(ms: number): string {
  const seconds = ms / 1_000;
  if (seconds < 60) return `${oneDecimal.format(seconds)} s`;
  const [minutes, hours] = [Math.floor(seconds / 60), Math.floor(seconds / 3_600)];
  if (hours < 1) return `${minutes} m ${twoDigits(seconds % 60)} s`;
  return hours < 48 ? `${hours} h ${twoDigits(minutes % 60)} m` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

const twoDigits = (value: number): string => String(Math.floor(value)).padStart(2, '0');

/** Shows an instant in the zone of the top line: the time, before today with the day, within a day how long ago. */
export function When({ at }: { at: string | number | Date | null }) {
  const { zone } = useSettings();
  if (at === null) return <span className="quiet">–</span>;
  const date = new Date(at);
  const ago = Date.now() - date.getTime();
  return (
    <time dateTime={date.toISOString()} title={`${instantText(date, zone)} (${zone})`} className="when">
      <span className="n">{isSameDay(date, new Date(), zone) ? timeText(date, zone) : instantText(date, zone)}</span>
      {Math.abs(ago) < DAY_MS && (
        <>
          {' '}
          <span className="quiet n">{agoText(ago)}</span>
        </>
      )}
    </time>
  );
}

export function timeText(date: Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-GB', { timeZone, timeStyle: 'medium' }).format(date);
}

/** Returns day and time as `24 Nov 2026 18:52:07`. */
export function instantText(date: Date, timeZone: string): string {
  const day = new Intl.DateTimeFormat('en-GB', { timeZone, dateStyle: 'medium' }).format(date);
  return `${day} ${timeText(date, timeZone)}`;
}

function isSameDay(one: Date, other: Date, timeZone: string): boolean {
  const day = new Intl.DateTimeFormat('en-CA', { timeZone });
  return day.format(one) === day.format(other);
}

function agoText(ms: number): string {
  const [size, unit] = [Math.abs(ms), ms >= 0 ? 'ago' : 'from now'];
  if (size < 1_000) return 'now';
  const span =
    size < 60_000
      ? `${Math.floor(size / 1_000)} s`
      : size < 3_600_000
        ? `${Math.floor(size / 60_000)} min`
        : `${Math.floor(size / 3_600_000)} h`;
  return `${span} ${unit}`;
}

/** Shows an id whole, or the ends of a hash, and copies all of it on a press. */
export function Id({ value, isShort = false }: { value: string; isShort?: boolean }) {
  const [isCopied, copy] = useCopy(value);
  return (
    <span className="id">
      <code title={isShort ? value : undefined}>{isShort ? `${value.slice(0, 6)}…${value.slice(-4)}` : value}</code>
      <button type="button" className="copy" aria-label={`Copy ${value}`} onClick={copy}>
        <Icon name={isCopied ? 'check' : 'copy'} />
      </button>
    </span>
  );
}

/** Returns whether the text was copied, and what copies it. */
export function useCopy(text: string): [isCopied: boolean, copy: () => void] {
  const [isCopied, setCopied] = useState(false);
  return [isCopied, () => void navigator.clipboard.writeText(text).then(() => setCopied(true))];
}

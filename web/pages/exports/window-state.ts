/** States of windows and of days, and the days that a calendar shows. */
import type { ReconciledWindow } from '../../../api/client.ts';
import type { Tone } from '../../parts/balance.tsx';

/** From the worst to the best: a day is as bad as its worst window. */
export const WINDOW_STATES = ['lost', 'missing', 'gap', 'late', 'elsewhere', 'written', 'whole'] as const;
export type WindowState = (typeof WINDOW_STATES)[number];

export const LOOKS: Record<WindowState, { tone: Tone; word: string; says: string }> = {
  lost: { tone: 'bad', word: 'lost', says: 'a file or the manifest is gone, or is not what the run wrote' },
  missing: { tone: 'bad', word: 'due', says: 'was due, and is not exported yet' },
  gap: { tone: 'unknown', word: 'gap', says: 'no run exported it, and no scheduled run will' },
  late: { tone: 'warn', word: 'late', says: 'rows came after its export: they are in no file' },
  elsewhere: { tone: 'neutral', word: 'moved', says: 'in a bucket that the exporter no longer uses' },
  written: { tone: 'info', word: 'written', says: 'exported; not compared with the bucket' },
  whole: { tone: 'ok', word: 'whole', says: 'each file and the manifest are in the bucket, unchanged' },
};

/** Returns the state of a window; only a verified one can be whole or lost. */
export function stateOf({ state, types, manifest, elsewhere }: ReconciledWindow): WindowState {
  if (state !== 'exported') return state;
  if (elsewhere) return 'elsewhere';
  const found: readonly (string | null)[] = [
    ...types.flatMap(({ files }) => files.map((file) => file.state)),
    ...(manifest === null ? [] : [manifest.state]),
  ];
  if (found.some((each) => each !== null && each !== 'ok' && each !== 'unchecked')) return 'lost';
  if (types.some(({ late }) => (late ?? 0) > 0)) return 'late';
  return found.length > 0 && found.every((each) => each === 'ok') ? 'whole' : 'written';
}

export function worstOf(states: readonly WindowState[]): WindowState | null {
  return WINDOW_STATES.find((each) => states.includes(each)) ?? null;
}

export const keyOf = ({ window: { start, end } }: ReconciledWindow): string => `${start ?? ''} ${end}`;

export const lateRows = ({ types }: ReconciledWindow): number => types.reduce((sum, { late }) => sum + (late ?? 0), 0);

/** Returns the day of an instant in a time zone, as `2026-11-24`. */
export function dayOf(instant: string | Date, timeZone: string): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone }).format(new Date(instant));
}

export function addDays(day: string, days: number): string {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, 10);
}

/** Returns whole weeks from a Monday to the Sunday at or after `until`. */
export function weeksUntil(until: string, weeks: number): string[] {
  const weekday = (new Date(`${until}T00:00:00Z`).getUTCDay() + 6) % 7;
  const first = addDays(until, -weekday - 7 * (weeks - 1));
  return Array.from({ length: 7 * weeks }, (_, index) => addDays(first, index));
}

/** Returns whether a window covers any of a day; one from the beginning on counts on its last day. */
export function isOnDay({ window: { start, end } }: ReconciledWindow, day: string, timeZone: string): boolean {
  const last = lastDayOf(end, timeZone);
  return day <= last && day >= (start === null ? last : dayOf(start, timeZone));
}

/** Returns the day of the last second before the end. */
export function lastDayOf(end: string, timeZone: string): string {
  return dayOf(new Date(Date.parse(end) - 1_000), timeZone);
}

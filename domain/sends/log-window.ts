import { DAY_MS } from '../time/durations.ts';
import type { FieldError } from '../core/refusal.ts';

/** The period of a campaign log; both ends are included. */
export type LogWindow = { from: Date; till: Date };

export function logWindowErrors({ from, till }: LogWindow, now: Date): FieldError[] {
  if (till >= now) return [{ element: 'till', message: 'must lie in the past' }];
  return from > till ? [{ element: 'from', message: 'must not lie after till' }] : [];
}

/** Returns the errors of a new report's window: `from` must lie at most `days` back, for which attempts are kept. */
export function logStartErrors({ from }: LogWindow, now: Date, days: number): FieldError[] {
  return now.getTime() - from.getTime() > days * DAY_MS
    ? [{ element: 'from', message: `must lie at most ${days} days back` }]
    : [];
}

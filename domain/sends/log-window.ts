import { DAY_MS } from '../time/durations.ts';
import type { FieldError } from '../core/refusal.ts';

/** What campaign logs are asked for; both times are included. */
export type LogWindow = { from: Date; till: Date };

/** What is wrong with a window: `till` lies in the past, and not before `from`. */
export function logWindowErrors({ from, till }: LogWindow, now: Date): FieldError[] {
  if (till >= now) return [{ element: 'till', message: 'must lie in the past' }];
  return from > till ? [{ element: 'from', message: 'must not lie after till' }] : [];
}

/** What is wrong with a window that no report has yet: `from` lies at most `days` back, for which attempts are kept. */
export function logStartErrors({ from }: LogWindow, now: Date, days: number): FieldError[] {
  return now.getTime() - from.getTime() > days * DAY_MS
    ? [{ element: 'from', message: `must lie at most ${days} days back` }]
    : [];
}

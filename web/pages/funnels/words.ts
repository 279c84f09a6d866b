/** Words and figures of funnels that their pages share. */
import type { Funnel, FunnelStats } from '../../../api/client.ts';
import { DAY_MS } from '../../../domain/time/durations.ts';
import { ownOf } from '../../parts/text-of.ts';
import { countText, durationText } from '../../parts/values.tsx';

export type Step = Funnel['steps'][number];

/** A funnel to count, stored or not. */
export type CountedFunnel = { max_duration: number; steps: Step[] };

/** A question about the people of a step: who completed it, or who dropped out before it. */
export type AskedStep = { step: number; outcome: 'completed' | 'dropped' };

/** Returns the names of a step's events: any of them completes it. */
export function stepName({ match_name: names }: Step): string {
  return [...new Set(names.map(({ log_name: name }) => name))].join(' or ');
}

/** Returns a number of people with how far it may be off. */
export function peopleText({
  completions,
  completions_error: error,
}: Pick<FunnelStats, 'completions' | 'completions_error'>): string {
  return error === 0 ? countText(completions) : `${countText(completions)} ± ${countText(error)}`;
}

export const secondsText = (seconds: number): string => durationText(seconds * 1_000);

const UNITS = [
  [86_400, 'day'],
  [3_600, 'hour'],
  [60, 'minute'],
  [1, 'second'],
] as const;

/** Returns a whole duration in its largest unit, such as `30 days`. */
export function wholeDurationText(seconds: number): string {
  const [size, unit] = UNITS.find(([each]) => seconds % each === 0) ?? [1, 'second'];
  const count = seconds / size;
  return `${countText(count)} ${unit}${count === 1 ? '' : 's'}`;
}

/** Returns the days in UTC that are counted if the address names none: the last 30. */
export function lastDays(now: number): { from: string; till: string } {
  const day = (at: number) => new Date(at).toISOString().slice(0, 10);
  return { from: day(now - 29 * DAY_MS), till: day(now) };
}

/** Fields by which people can be divided, as the page names them. */
export const BREAKDOWNS: Readonly<Record<string, string>> = {
  week: 'Week of the first step',
  app_version: 'App version',
  os_version: 'System version',
  sdk_version: 'SDK version',
  device_model: 'Device model',
  device_type: 'Device type',
  country_code: 'Country',
  language_code: 'Language',
};

export const OF_DETAIL = 'detail.';

export function breakdownName(breakdown: string): string {
  return ownOf(BREAKDOWNS, breakdown) ?? `Property ${breakdown.slice(OF_DETAIL.length)}`;
}

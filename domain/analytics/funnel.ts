/** Funnels: their steps, and the events that may complete or break them. */

/** The event that a step matches, by app and name; log type 0 is any (reference: Funnel). */
export type MatchName = { app_id: string; log_type: 0 | 1 | 2 | 3; log_name: string };

/** A step of a funnel; `values_erased`: number of `match_details` objects that erasures removed. */
export type FunnelStep = {
  match_name: MatchName[];
  match_details?: DetailPairs[] | undefined;
  values_erased?: number | undefined;
};

/** Returns the objects one of which an event must hold; empty: any detail; null: erasures removed all. */
export function detailsOf({
  match_details: details = [],
  values_erased: erased = 0,
}: Pick<FunnelStep, 'match_details' | 'values_erased'>): DetailPairs[] | null {
  return details.length === 0 && erased > 0 ? null : details;
}

/** A detail that is a text has the empty key. */
export type DetailPairs = Record<string, string | number | boolean | null>;

/** Events that break a chain between the step `after_step` and the next one. */
export type FunnelExclusion = { after_step: number; match_name: MatchName[] };

export const MAX_STEPS = 20;
export const MAX_NAMES = 50;
export const MAX_DETAILS = 50;
export const MAX_PAIRS = 20;
/** Maximum number of pairs in all steps together, since each may be compared with each event. */
export const MAX_PAIRS_IN_ALL = 500;
export const DEFAULT_DURATION_SECONDS = 2_592_000;
export const MAX_DURATION_SECONDS = 366 * 86_400;

/** The mode `fast` looks at one person in this many, or at fewer. */
export const SAMPLED_ONE_IN = 16;

export type StepEvent = { appId: string; logType: 1 | 2 | 3; name: string; steps: number[]; breaksAfter: number[] };

const LOG_TYPES = [1, 2, 3] as const;

/** Returns each event of a funnel once, with the steps that it may complete or after which it breaks a chain. */
export function eventsOfFunnel(steps: readonly FunnelStep[], exclusions: readonly FunnelExclusion[] = []): StepEvent[] {
  const events = new Map<string, StepEvent>();
  const add = (
    { app_id: appId, log_type: logType, log_name: name }: MatchName,
    member: 'steps' | 'breaksAfter',
    step: number,
  ) => {
    for (const type of logType === 0 ? LOG_TYPES : [logType]) {
      const key = JSON.stringify([appId, type, name]);
      const event = events.get(key) ?? { appId, logType: type, name, steps: [], breaksAfter: [] };
      if (!event[member].includes(step)) event[member].push(step);
      events.set(key, event);
    }
  };
  for (const [step, { match_name: names }] of steps.entries()) for (const name of names) add(name, 'steps', step);
  for (const { after_step: step, match_name: names } of exclusions)
    for (const name of names) add(name, 'breaksAfter', step);
  return [...events.values()];
}

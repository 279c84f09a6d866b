/** When a step is suspected of killing its process, and when it is given up (law 11). */

/** Number of deaths in a row without progress after which a step is given up. */
export const MAX_STEP_DEATHS = 3;

export type NotedAttempt = {
  attempt: number;
  /** Null once the attempt ended. */
  process: number | null;
  isAlone: boolean;
  progress: string | null;
  deaths: number;
};

/** An attempt that begins; `hasDied`: the earlier one's process is gone, by itself, not with its database. */
export type BegunAttempt = { attempt: number; progress: string | null; hasDied: boolean };

/** Returns how many processes in a row died of the step. A first attempt is not noted: a second counts it as one. */
export function countDeaths(noted: NotedAttempt | null, { attempt, progress, hasDied }: BegunAttempt): number {
  if (!noted) return attempt === 2 ? 1 : 0;
  if (noted.progress !== null && noted.progress !== progress) return 0;
  return noted.deaths + (hasDied && noted.attempt === attempt - 1 ? 1 : 0);
}

/** Returns what becomes of an attempt; the last one runs beside no other suspect, so no other's death counts. */
export function judgeAttempt(
  noted: NotedAttempt | null,
  deaths: number,
  maxDeaths: number,
): 'runs' | 'runs alone' | 'given up' {
  if (deaths < maxDeaths - 1) return 'runs';
  return deaths >= maxDeaths && noted?.isAlone === true ? 'given up' : 'runs alone';
}

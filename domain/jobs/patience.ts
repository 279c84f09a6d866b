/** Retries of outside systems: which errors may pass, and how long to wait before each try. */
import { PLANNED_WAIT, type Refusal } from '../core/refusal.ts';
import { backOff, DAY_MS } from '../time/durations.ts';

/**
 * First and longest wait for an outside system. The longest is the delay until Millrace notices that an outage has
 * ended.
 */
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 5 * 60_000;
/** Longest wait that an outside system may ask for (`Retry-After`). */
const MAX_ASKED_MS = DAY_MS;

/** Statuses of outside systems that may pass by themselves; for any other a person has to change something. */
const PASSING = new Set<string | number>(['source_unavailable', 'transfer_broken', 'source_changed']);

export function mayPassByItself({ status }: Pick<Refusal, 'status'>): boolean {
  return PASSING.has(status);
}

export type Trouble = {
  /** Failures in a row, the last one included: at least 1. */
  tries: number;
  failingForMs: number;
  /** How long errors that may pass are waited for, counted from the first. */
  patienceMs: number;
  /** Number of tries, in all, of an error that may not pass; default 1. */
  finalTries?: number;
};

/**
 * Returns the wait before the next try in ms; null if the work has failed for good. Waits double, and the last try
 * comes as the patience ends. A longer wait that the system asks for counts; a shorter one does not.
 */
export function waitBeforeRetry({ status, extra }: Pick<Refusal, 'status' | 'extra'>, trouble: Trouble): number | null {
  const { tries, failingForMs, patienceMs, finalTries = 1 } = trouble;
  const mayPass = mayPassByItself({ status });
  if (mayPass ? failingForMs >= patienceMs : tries >= finalTries) return null;
  const backOffMs = backOff(tries, FIRST_WAIT_MS, MAX_WAIT_MS);
  const { retry_after: asked } = extra;
  if (typeof asked === 'number') return Math.min(Math.max(asked * 1_000, backOffMs), MAX_ASKED_MS);
  return mayPass ? Math.min(backOffMs, Math.max(patienceMs - failingForMs, FIRST_WAIT_MS)) : backOffMs;
}

/**
 * State of waiting work until its next try; `failingSince`: when the first of the `tries` failed, later by the planned
 * waits since; null: none has failed.
 */
export type NextTry = { tries: number; failingSince: Date | null; waitMs: number; waitsUntil: Date };

/**
 * Returns the try after one more failure or planned wait; null if the work has failed for good. A planned wait counts
 * as no failure, and its time not as time of failing: any number of them may follow each other.
 */
export function nextTry(
  refusal: Pick<Refusal, 'status' | 'extra'>,
  before: { tries: number; failingSince: Date | null },
  { now, ...limits }: Pick<Trouble, 'patienceMs' | 'finalTries'> & { now: Date },
): NextTry | null {
  if (refusal.extra[PLANNED_WAIT]) return afterPlannedWait(refusal, before, now);
  const tries = before.tries + 1;
  const failingSince = before.failingSince ?? now;
  const waitMs = waitBeforeRetry(refusal, { tries, failingForMs: now.getTime() - failingSince.getTime(), ...limits });
  return waitMs === null ? null : { tries, failingSince, waitMs, waitsUntil: new Date(now.getTime() + waitMs) };
}

function afterPlannedWait(
  { extra: { retry_after: asked } }: Pick<Refusal, 'extra'>,
  { tries, failingSince }: { tries: number; failingSince: Date | null },
  now: Date,
): NextTry {
  const waitMs = Math.min(Math.max(Number(asked ?? 0) * 1_000, FIRST_WAIT_MS), MAX_ASKED_MS);
  return {
    tries,
    failingSince: failingSince && new Date(failingSince.getTime() + waitMs),
    waitMs,
    waitsUntil: new Date(now.getTime() + waitMs),
  };
}

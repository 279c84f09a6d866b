import { backOff, DAY_MS } from '../time/durations.ts';
import type { Refusal } from '../core/refusal.ts';

/** The first wait for an outside system; the longest delays the notice that an outage has ended. */
const FIRST_WAIT_MS = 1_000;
const MAX_WAIT_MS = 5 * 60_000;
/** Longest wait that an outside system may ask for (`Retry-After`). */
const MAX_ASKED_MS = DAY_MS;

/** Errors of an outside system that may pass by themselves: for every other one somebody has to change something. */
const PASSING = new Set<string | number>(['source_unavailable', 'transfer_broken', 'source_changed']);

/** Returns whether an error of an outside system, by its status, may pass by itself. */
export function mayPassByItself({ status }: Pick<Refusal, 'status'>): boolean {
  return PASSING.has(status);
}

/** Work that makes no progress. */
export type Trouble = {
  /** In a row, the one that just failed among them: at least 1. */
  tries: number;
  /** Since the first of them failed. */
  failingForMs: number;
  /** How long errors that may pass are waited for, counted from the first. */
  patienceMs: number;
  /** How often a final no is asked for in all; default 1. */
  finalTries?: number;
};

/**
 * How long to wait before the next try, in ms; null: the work has failed for good. Waits double, and the last try comes
 * when the patience ends. A system that names a longer time is left alone for that time; a short one does not make the
 * tries more than they are.
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

/** A job's trouble until its next try; `failingSince`: when the first of the `tries` failed. */
export type NextTry = { tries: number; failingSince: Date; waitMs: number; waitsUntil: Date };

/** The try after one more that has failed; null: the work has failed for good. */
export function nextTry(
  refusal: Pick<Refusal, 'status' | 'extra'>,
  before: { tries: number; failingSince: Date | null },
  { now, ...limits }: Pick<Trouble, 'patienceMs' | 'finalTries'> & { now: Date },
): NextTry | null {
  const tries = before.tries + 1;
  const failingSince = before.failingSince ?? now;
  const waitMs = waitBeforeRetry(refusal, { tries, failingForMs: now.getTime() - failingSince.getTime(), ...limits });
  return waitMs === null ? null : { tries, failingSince, waitMs, waitsUntil: new Date(now.getTime() + waitMs) };
}

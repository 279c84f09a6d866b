/** The counts of a funnel: the fast answer first, then the exact one in its place. */
import { useRef } from 'react';
import type { FunnelStats } from '../../../api/client.ts';
import { MAX_DURATION_SECONDS } from '../../../domain/analytics/funnel.ts';
import { isDay, useFilters } from '../../parts/filters.ts';
import type { Refusal } from '../../session/api.ts';
import { useRead } from '../../session/calls.ts';
import { lastDays, type CountedFunnel } from './words.ts';

/** The days, both included, and an app that the person may see. */
export type Asked = { app_id: string; from: string; till: string };

/** The exact answer is asked for by itself if the fast one took less than this. */
const QUICK_MS = 1_000;

const COUNTS = ['auto', 'fast', 'exact'] as const;
export type CountKind = (typeof COUNTS)[number];

/** An answer, and how long it took. */
type Answer = { stats: readonly FunnelStats[]; tookMs: number; at: number };

export type Counts = {
  /** The answer that is shown, as a whole: the exact one once it is there. */
  shown: Answer | undefined;
  isExact: boolean;
  fast: Answer | undefined;
  isCounting: boolean;
  refusal: Refusal | null;
  /** Whether the refused count was the exact one. */
  isExactRefused: boolean;
  retry: () => void;
};

export function useAsked(appId: string): [asked: Asked, breakdown: string | undefined, kind: CountKind] {
  const [{ from, till, breakdown, count }] = useFilters();
  const days = lastDays(Date.now());
  const dayOf = (day: string | undefined, otherwise: string) => (day !== undefined && isDay(day) ? day : otherwise);
  const period = { from: dayOf(from, days.from), till: dayOf(till, days.till) };
  return [{ app_id: appId, ...period }, breakdown, COUNTS.find((each) => each === count) ?? 'auto'];
}

/** Returns the seconds from the first step within which people are counted; by default those of the funnel. */
export function useWithin(ofFunnel: number): number {
  const [{ within = '' }] = useFilters();
  const seconds = /^\d{1,9}$/.test(within) ? Number(within) : 0;
  return seconds >= 1 && seconds <= MAX_DURATION_SECONDS ? seconds : ofFunnel;
}

export function useCounts(funnel: CountedFunnel, asked: Asked, kind: CountKind): Counts {
  const fast = useAnswer(funnel, asked, 'fast', true);
  const isFastExact = fast.answer?.stats[0]?.exact === true;
  const isQuick = fast.answer !== undefined && fast.answer.tookMs < QUICK_MS;
  const isWanted = fast.answer !== undefined && !isFastExact && (kind === 'exact' || (kind === 'auto' && isQuick));
  const exact = useAnswer(funnel, asked, 'accurate', isWanted);
  const exactAnswer = isFastExact ? fast.answer : kind === 'fast' ? undefined : exact.answer;
  return {
    shown: exactAnswer ?? fast.answer,
    isExact: exactAnswer !== undefined,
    fast: isFastExact ? undefined : fast.answer,
    isCounting: fast.isFetching || exact.isFetching,
    refusal: fast.error ?? (isWanted ? exact.error : null),
    isExactRefused: fast.error === null,
    retry: () => void (fast.error ? fast.refetch() : exact.refetch()),
  };
}

function useAnswer(funnel: CountedFunnel, asked: Asked, mode: 'fast' | 'accurate', isWanted: boolean) {
  const key = JSON.stringify([funnel, asked, mode]);
  const took = useRef({ key: '', since: 0, ms: 0 });
  const read = useRead('quickFunnelStats', { query: { ...asked, mode }, body: { funnel } }, { isWanted });
  if (isWanted && took.current.key !== key) took.current = { key, since: performance.now(), ms: 0 };
  // Answers to another question stay away: they may have other days or steps.
  const stats = read.isPlaceholderData || !isWanted ? undefined : read.data;
  if (stats && took.current.ms === 0) took.current.ms = performance.now() - took.current.since;
  const answer = stats && { stats, tookMs: took.current.ms, at: read.dataUpdatedAt };
  return { answer, isFetching: read.isFetching, error: isWanted ? read.error : null, refetch: read.refetch };
}

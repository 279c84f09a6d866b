/** Limits of how many pieces of each kind of work run at once. */
import type { CpuShare, PortionKind } from './cpu-share.ts';
import { type Bounds, type Semaphore, semaphore } from './semaphore.ts';

/** Places that entities share in one process (`semaphore`): all limits of work, so that one test checks them. */
export const PLACES = {
  /** Batches of imports and feeds; bounds their memory. */
  importBatches: 4,
  /** Parts of batches of imports and syncs that are being checked or committed. */
  batchParts: 32,
  /** Batches of feeds that are being committed. */
  feedBatches: 4,
  /** Runs of syncs: each holds a few batches for as long as its source takes. */
  syncs: 6,
  /** Runs of exporters and files: each holds two database sessions, and uploads up to two files. */
  exports: 2,
  /** Steps that erase people or write their data into archives. */
  gdpr: 2,
  /** Portions of sends: each holds up to a thousand messages. */
  sends: 4,
  /** The same, of requests for a few messages. */
  smallSends: 4,
  /** Attempts to send a mail or an alert. */
  mails: 8,
  /**
   * Searches for the people that filters find, for campaigns and segments: each takes two database sessions, for ten
   * minutes at most.
   */
  audiences: 2,
  /** Reports that count the outcomes of an entity's messages. */
  reports: 4,
  /** Deliveries of outcomes to webhooks, and of lists of deletions to buckets. */
  deliveries: 16,
  /** Running imports; most of them wait for a place of a batch. */
  imports: 64,
  /** Running feeds, one an entity; most of them wait for a place of a batch. */
  feeds: 64,
  /**
   * Calls of connectors within requests: checks of connections, exporters and push providers, and discovery of sources.
   */
  connectorCalls: 64,
  /** Funnels and previews that may read all events of a period: each takes two database sessions. */
  heavyReads: 2,
  /** Streamed lists: each holds a piece of about 1 MiB, or a database session, until its caller has read it. */
  streamedLists: 16,
} as const;

export type Limit = keyof typeof PLACES;

/** A request for at most this many messages is a small send. */
export const SMALL_SEND = 100;

/** How long a portion counts in its entity's share of the cores. */
export const COUNTED_MS = 5_000;

/** Bounds of one entity's places, also while it is alone, and of waiting callers. */
export const BOUNDS = {
  syncs: { maxWaitingEach: 6, maxWaiting: 60 },
  exports: { maxWaitingEach: 6, maxWaiting: 30 },
  gdpr: { maxWaitingEach: 6, maxWaiting: 30 },
  imports: { maxEach: 8, maxWaitingEach: 1, maxWaiting: 16 },
  feeds: { maxEach: 1, maxWaitingEach: 1, maxWaiting: 16 },
  sends: { maxWaitingEach: 8, maxWaiting: 60 },
  smallSends: { maxWaitingEach: 8, maxWaiting: 20 },
  mails: { maxWaitingEach: 8, maxWaiting: 24 },
  audiences: { maxEach: 1, maxWaitingEach: 4, maxWaiting: 20 },
  reports: { maxEach: 1, maxWaitingEach: 1, maxWaiting: 12 },
  deliveries: { maxEach: 4, maxWaitingEach: 4, maxWaiting: 16 },
  connectorCalls: { maxEach: 4, maxWaitingEach: 1, maxWaiting: 16 },
  heavyReads: { maxEach: 1, maxWaitingEach: 20, maxWaiting: 100 },
  streamedLists: { maxEach: 4, maxWaitingEach: 100, maxWaiting: 500 },
} as const satisfies Partial<Record<Limit, Bounds>>;

/**
 * The limits whose work takes the machine's cores a portion at a time: `CpuShare` shares the cores out between them.
 * Portions of the others wait for outside systems, or last for minutes. A portion of a send is planned within half a
 * second, then it waits for its provider. Small sends wait for no share: a message must not stand behind the imports of
 * its own entity.
 */
const BY_CPU_SHARE: Partial<Record<Limit, Omit<PortionKind, 'name'>>> = {
  batchParts: { countedMs: COUNTED_MS },
  feedBatches: { countedMs: COUNTED_MS },
  gdpr: { countedMs: COUNTED_MS },
  reports: { countedMs: COUNTED_MS },
  sends: { countedMs: 500 },
  heavyReads: { countedMs: COUNTED_MS, isUrgent: true },
};

/** Opens the places of a limit, once a process. */
export function openPlaces(limit: Limit, cpuShare?: CpuShare): Semaphore {
  const take = semaphore(PLACES[limit], (BOUNDS as Partial<Record<Limit, Bounds>>)[limit]);
  const kind = BY_CPU_SHARE[limit];
  return cpuShare && kind ? cpuShare.within({ name: limit, ...kind }, take) : take;
}

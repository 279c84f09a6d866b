/** Limits of how many pieces of each kind of work run at once. */
import type { CpuShare, PortionKind } from './cpu-share.ts';
import { type Bounds, type Semaphore, semaphore } from './semaphore.ts';

/** Places that entities share in one process (`semaphore`): all limits of work, so that one test checks them. */
export const PLACES = {
  /** Batches of imports and feeds; bounds their memory. */
  importBatches: 4,
  batchParts: 32,
  feedBatches: 4,
  /** Runs of syncs: each holds a few batches for as long as its source takes. */
  syncs: 6,
  /** Runs of exporters and files: each holds two database sessions, and uploads up to two files. */
  exports: 2,
  gdpr: 2,
  /** Portions of sends: each holds up to a thousand messages. */
  sends: 4,
  /** Sends of at most `SMALL_SEND` messages. */
  smallSends: 4,
  mails: 8,
  /** Searches for a filter's people, for campaigns and segments: two database sessions each, for up to ten minutes. */
  audiences: 2,
  reports: 4,
  deliveries: 16,
  /** Running imports; most of them wait for a place of a batch. */
  imports: 64,
  feeds: 64,
  /** Calls of connectors within requests: checks of connections, exporters and providers, and discovery. */
  connectorCalls: 64,
  /** Funnels and previews that may read all events of a period: each takes two database sessions. */
  heavyReads: 2,
  /** Heavy reads of a sample of people. */
  fastReads: 1,
  /** Streamed lists: each holds a piece of about 1 MiB, or a database session, until its caller has read it. */
  streamedLists: 16,
} as const;

export type Limit = keyof typeof PLACES;

export const SMALL_SEND = 100;

export const COUNTED_MS = 5_000;

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
  heavyReads: { maxEach: 1, maxWaitingOfMember: 6, maxWaitingEach: 20, maxWaiting: 100 },
  fastReads: { maxEach: 1, maxWaitingOfMember: 6, maxWaitingEach: 20, maxWaiting: 100 },
  streamedLists: { maxEach: 4, maxWaitingEach: 100, maxWaiting: 500 },
} as const satisfies Partial<Record<Limit, Bounds>>;

/**
 * The limits whose portions compute; a send's does so for half a second. Small sends are none of them: a message must
 * not stand behind its entity's imports.
 */
const BY_CPU_SHARE: Partial<Record<Limit, Omit<PortionKind, 'name'>>> = {
  batchParts: { countedMs: COUNTED_MS },
  feedBatches: { countedMs: COUNTED_MS },
  gdpr: { countedMs: COUNTED_MS },
  reports: { countedMs: COUNTED_MS },
  sends: { countedMs: 500 },
  heavyReads: { countedMs: COUNTED_MS, isUrgent: true },
  fastReads: { countedMs: COUNTED_MS, isUrgent: true },
};

/** Opens the places of a limit, once a process. */
export function openPlaces(limit: Limit, cpuShare?: CpuShare): Semaphore {
  const take = semaphore(PLACES[limit], (BOUNDS as Partial<Record<Limit, Bounds>>)[limit]);
  const kind = BY_CPU_SHARE[limit];
  return cpuShare && kind ? cpuShare.within({ name: limit, ...kind }, take) : take;
}

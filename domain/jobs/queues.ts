import type { Limit } from '../core/limits.ts';
import type { TaskQueue } from './workflow-id.ts';

/** Maximum steps of a process. Places and lines of a queue's limits are fewer, so that waiting steps never fill it. */
export const STEPS_OF_QUEUE: Record<TaskQueue, number> = { flows: 20, bulk: 352, syncs: 100, sends: 100, mails: 40 };

/** Queues whose steps wait for the places of a limit. */
export const QUEUE_OF = {
  imports: 'bulk',
  feeds: 'bulk',
  exports: 'bulk',
  gdpr: 'bulk',
  audiences: 'bulk',
  reports: 'bulk',
  deliveries: 'bulk',
  syncs: 'syncs',
  sends: 'sends',
  smallSends: 'sends',
  mails: 'mails',
} as const satisfies Partial<Record<Limit, TaskQueue>>;

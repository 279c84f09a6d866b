import type { Limit } from '../core/limits.ts';
import type { TaskQueue } from './workflow-id.ts';

/**
 * Maximum number of steps at once in one process. The places that steps of a queue take and their lines are fewer, so
 * that steps which wait never keep a queue from steps that would not.
 */
export const STEPS_OF_QUEUE: Record<TaskQueue, number> = { flows: 20, bulk: 352, syncs: 100, sends: 100, mails: 40 };

/** The queue whose steps take the places of a limit, if they wait for it. */
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

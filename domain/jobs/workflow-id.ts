/**
 * The task queues: workflows and light steps; imports, exports, files, deletion; runs of syncs, which wait for others' systems;
 * rate-limited sends.
 */
export const TASK_QUEUES = ['flows', 'bulk', 'syncs', 'sends'] as const;

export type TaskQueue = (typeof TASK_QUEUES)[number];

/** One import, one workflow: starting it twice finds the first. */
export function importWorkflowId(identifier: string): string {
  return `import/${identifier}`;
}

/** One entity, one feed: by its number, which tells of nobody. */
export function feedWorkflowId(entityId: number): string {
  return `feed/${entityId}`;
}

/** One run of a sync, one workflow. */
export function syncRunWorkflowId(identifier: string): string {
  return `sync/${identifier}`;
}

/** One run of an exporter, one workflow. */
export function exportRunWorkflowId(identifier: string): string {
  return `export/${identifier}`;
}

/** One request of people for their data or its deletion, one workflow. */
export function gdprWorkflowId(identifier: string): string {
  return `gdpr/${identifier}`;
}

/** The signal that there is something in the feed's inbox. */
export const FEED_ARRIVED = 'feedArrived';

/** The signal that holds were released: people who were held may be deleted now. */
export const GDPR_HOLDS_CHANGED = 'holdsChanged';

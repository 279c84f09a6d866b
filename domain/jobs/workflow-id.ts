/** Task queues: `flows` has workflows and light steps, `syncs` waits for outside systems, `bulk` is other long work. */
export const TASK_QUEUES = ['flows', 'bulk', 'syncs', 'sends', 'mails'] as const;

export type TaskQueue = (typeof TASK_QUEUES)[number];

/** Returns the id of an entity's one feed, by its number, which is no personal data. */
export function feedWorkflowId(entityId: number): string {
  return `feed/${entityId}`;
}

export function reportsWorkflowId(entityId: number): string {
  return `reports/${entityId}`;
}

export const FEED_ARRIVED = 'feedArrived';

export const GDPR_HOLDS_CHANGED = 'holdsChanged';

export function segmentsWorkflowId(entityId: number): string {
  return `segments/${entityId}`;
}

export const SEGMENTS_DUE = 'segmentsDue';

export const SEND_CANCELED = 'sendCanceled';

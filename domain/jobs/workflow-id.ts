/**
 * The task queues: workflows and light steps; imports, exports, files, deletion; runs of syncs, which wait for others'
 * systems; sends; mails and alerts.
 */
export const TASK_QUEUES = ['flows', 'bulk', 'syncs', 'sends', 'mails'] as const;

export type TaskQueue = (typeof TASK_QUEUES)[number];

/** Returns the id of an entity's one feed, by its number, which is no personal data. */
export function feedWorkflowId(entityId: number): string {
  return `feed/${entityId}`;
}

/** One entity, one count of its attempts. */
export function reportsWorkflowId(entityId: number): string {
  return `reports/${entityId}`;
}

/** The signal that there is something in the feed's inbox. */
export const FEED_ARRIVED = 'feedArrived';

/** The signal that holds were released: people who were held may be deleted now. */
export const GDPR_HOLDS_CHANGED = 'holdsChanged';

/** One entity, one refresh of its segments. */
export function segmentsWorkflowId(entityId: number): string {
  return `segments/${entityId}`;
}

/** The signal that a refresh of a segment is due. */
export const SEGMENTS_DUE = 'segmentsDue';

/** The signal that a send is to end: it need not wait for its time any more. */
export const SEND_CANCELED = 'sendCanceled';

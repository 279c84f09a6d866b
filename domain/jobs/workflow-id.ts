/**
 * Task queues: workflows and light steps; imports, exports, files and deletions; runs of syncs, which wait for outside
 * systems; sends; mails and alerts.
 */
export const TASK_QUEUES = ['flows', 'bulk', 'syncs', 'sends', 'mails'] as const;

export type TaskQueue = (typeof TASK_QUEUES)[number];

/** Returns the id of an entity's one feed, by its number, which is no personal data. */
export function feedWorkflowId(entityId: number): string {
  return `feed/${entityId}`;
}

export function reportsWorkflowId(entityId: number): string {
  return `reports/${entityId}`;
}

/** Signal that the feed's inbox has a request. */
export const FEED_ARRIVED = 'feedArrived';

/** Signal that holds were released, so that held people may be deleted now. */
export const GDPR_HOLDS_CHANGED = 'holdsChanged';

export function segmentsWorkflowId(entityId: number): string {
  return `segments/${entityId}`;
}

/** Signal that a refresh of a segment is due. */
export const SEGMENTS_DUE = 'segmentsDue';

/** Signal that a send must end, without waiting for its time. */
export const SEND_CANCELED = 'sendCanceled';

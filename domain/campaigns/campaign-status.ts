/** The statuses of campaigns, and the changes between them. */

export const CAMPAIGN_TYPES = ['classic', 'transactional', 'dynamic'] as const;
export type CampaignType = (typeof CAMPAIGN_TYPES)[number];

/** Statuses in the reference's order (Campaigns, 1). */
export const CAMPAIGN_STATUSES = [
  'ongoing',
  'finished',
  'wait_sync',
  'scheduled',
  'draft',
  'failed',
  'canceled',
] as const;
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number];

/** Statuses as lists of campaigns show them (reference: Campaign). */
export const STATUS_NAMES: Record<CampaignStatus, string> = {
  ongoing: 'Ongoing',
  finished: 'Finished',
  wait_sync: 'Wait sync',
  scheduled: 'Scheduled',
  draft: 'Draft',
  failed: 'Failed',
  canceled: 'Canceled',
};

/** States of a campaign's reach: `computing` until its audience is found; `none` if it has none to find. */
export const REACH_STATES = ['none', 'computing', 'counted'] as const;
type ReachState = (typeof REACH_STATES)[number];

export function reachStateOf({
  type,
  status,
  reachAt,
}: {
  type: CampaignType;
  status: CampaignStatus;
  reachAt: Date | null;
}): ReachState {
  if (reachAt !== null) return 'counted';
  return type === 'classic' && (status === 'scheduled' || status === 'wait_sync') ? 'computing' : 'none';
}

/** Changes of a campaign: launch and cancel by request, the others by its dates, audience and sends. */
export type CampaignChange = 'launch' | 'start' | 'audience is there' | 'end' | 'cancel' | 'fail';

/** The transitions of docs/campaigns.md. Campaigns with an audience wait in wait_sync until it is found. */
export const CAMPAIGN_TRANSITIONS: readonly { from: CampaignStatus; change: CampaignChange; to: CampaignStatus }[] = [
  { from: 'draft', change: 'launch', to: 'scheduled' },
  { from: 'draft', change: 'launch', to: 'wait_sync' },
  { from: 'draft', change: 'launch', to: 'ongoing' },
  { from: 'scheduled', change: 'start', to: 'wait_sync' },
  { from: 'scheduled', change: 'start', to: 'ongoing' },
  { from: 'wait_sync', change: 'audience is there', to: 'ongoing' },
  { from: 'ongoing', change: 'end', to: 'finished' },
  { from: 'scheduled', change: 'cancel', to: 'canceled' },
  { from: 'wait_sync', change: 'cancel', to: 'canceled' },
  { from: 'ongoing', change: 'cancel', to: 'canceled' },
  { from: 'scheduled', change: 'fail', to: 'failed' },
  { from: 'wait_sync', change: 'fail', to: 'failed' },
  { from: 'ongoing', change: 'fail', to: 'failed' },
];

export function mayChange(from: CampaignStatus, change: CampaignChange): boolean {
  return CAMPAIGN_TRANSITIONS.some((transition) => transition.from === from && transition.change === change);
}

/** Returns whether a campaign was never launched: only then it is edited or deleted. */
export function isDraft(status: CampaignStatus): boolean {
  return status === 'draft';
}

/** Number of days from start to end of a campaign without an end date (reference: Campaign body). */
export const CAMPAIGN_DAYS = 30;

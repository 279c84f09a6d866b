export const CAMPAIGN_TYPES = ['classic', 'transactional', 'dynamic'] as const;
export type CampaignType = (typeof CAMPAIGN_TYPES)[number];

/** In the reference's order (Campaigns, 1). */
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

/** As a campaign in a list shows it (reference: Campaign). */
export const STATUS_NAMES: Record<CampaignStatus, string> = {
  ongoing: 'Ongoing',
  finished: 'Finished',
  wait_sync: 'Wait sync',
  scheduled: 'Scheduled',
  draft: 'Draft',
  failed: 'Failed',
  canceled: 'Canceled',
};

/**
 * Whether the reach of a campaign says something: `computing` until its audience is found, `none` if it has none to
 * find.
 */
export const REACH_STATES = ['none', 'computing', 'counted'] as const;
type ReachState = (typeof REACH_STATES)[number];

/**
 * Only a classic campaign counts its audience. One that is a draft, or ended before its audience was found, has none.
 */
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

/** What happens to a campaign: launch and cancel on request, the others by its dates, its audience and its sends. */
export type CampaignChange = 'launch' | 'start' | 'audience is there' | 'end' | 'cancel' | 'fail';

/**
 * Every way from one status to another; docs/campaigns.md shows them. Only drafts are edited and deleted. A launched
 * transactional campaign has no audience to wait for. A classic or dynamic one waits in wait_sync until the snapshot of
 * its audience is there.
 */
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

/** Whether a change can happen to a campaign in this status. */
export function mayChange(from: CampaignStatus, change: CampaignChange): boolean {
  return CAMPAIGN_TRANSITIONS.some((transition) => transition.from === from && transition.change === change);
}

/** Only a campaign that was never launched is edited or deleted. */
export function isDraft(status: CampaignStatus): boolean {
  return status === 'draft';
}

/** Without an end date of its own a campaign ends so many days after its start (reference: Campaign body). */
export const CAMPAIGN_DAYS = 30;

export const CAMPAIGN_TYPES = ['classic', 'transactional', 'dynamic'] as const;
export type CampaignType = (typeof CAMPAIGN_TYPES)[number];

/** In the reference's order (Campaigns, 1). */
export const CAMPAIGN_STATUSES = ['ongoing', 'finished', 'wait_sync', 'scheduled', 'draft', 'failed', 'canceled'] as const;
export type CampaignStatus = (typeof CAMPAIGN_STATUSES)[number];

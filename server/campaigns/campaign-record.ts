import type * as api from '../../api/campaigns/campaigns.ts';
import { type CampaignParams, placeholdersOf } from '../../domain/campaigns/campaign-params.ts';
import { STATUS_NAMES } from '../../domain/campaigns/campaign-status.ts';
import { type Campaign, type CampaignStats, listCampaignStats } from '../../store/campaigns/campaigns.ts';
import type { Queryable } from '../../store/core/database.ts';

/** Campaigns as a list has them, in their order. */
export async function showCampaigns(db: Queryable, entityId: number, campaigns: readonly Campaign[]): Promise<api.Campaign[]> {
  const stats = await listCampaignStats(db, entityId, campaigns.map(({ id }) => id));
  return campaigns.map((campaign) => {
    const [params, shownStats] = [showListedParams(campaign.params), showStats(stats.get(campaign.id))];
    // A campaign without variants has one: itself.
    const variants = [{ identifier: campaign.identifier, name: campaign.name, share: 100, params, stats: shownStats }];
    return { ...showCampaign(campaign), stats: shownStats, params, variants };
  });
}

/** A campaign with its whole body. */
export async function showDetails(db: Queryable, entityId: number, campaign: Campaign): Promise<api.CampaignDetails> {
  const { filters, type, notifLimit } = campaign;
  const includes = { push: campaign.includesPush, inapp: campaign.includesInapp };
  const placeholders = type === 'transactional' ? placeholdersOf(campaign.params, includes) : [];
  return {
    ...showCampaign(campaign),
    stats: showStats((await listCampaignStats(db, entityId, [campaign.id])).get(campaign.id)),
    campaign_api_identifier: campaign.apiIdentifier,
    source: 'API',
    sensitive: campaign.isSensitive,
    filters,
    params: showParams(campaign.params),
    placeholders: placeholders.map(({ name, hasDefault }) => ({ name, required: !hasDefault })),
    recurrence: campaign.recurrence,
    notif_limit: notifLimit && { maximum: notifLimit.maximum ?? null, interval: notifLimit.interval ?? null },
    ended_at: toSeconds(campaign.endedAt),
    failure: campaign.failure,
  };
}

function showCampaign(campaign: Campaign) {
  return {
    identifier: campaign.identifier,
    name: campaign.name,
    status: STATUS_NAMES[campaign.status],
    type: campaign.type,
    includes_inapp: campaign.includesInapp,
    includes_push: campaign.includesPush,
    adapt_tz: campaign.adaptTz,
    app_id: campaign.appIdentifier,
    launched_at: toSeconds(campaign.launchedAt),
    start_date: toSeconds(campaign.startDate),
    end_date: toSeconds(campaign.endDate),
    updated_at: toSeconds(campaign.updatedAt)!,
    created_at: toSeconds(campaign.createdAt)!,
    skip_message_limit: campaign.skipMessageLimit,
    reach: { count: campaign.reachCount, optin: campaign.reachOptin, total: campaign.reachTotal },
  };
}

function showStats({ pushesSent, pushesOpened }: CampaignStats = { pushesSent: 0, pushesOpened: 0 }) {
  return { total_push_openings: pushesOpened, total_push_sent: pushesSent };
}

function showListedParams(params: CampaignParams): api.Campaign['params'] {
  const { push_message = null, push_title = null, push_action = null, push_parameters } = params;
  return { push_message, push_title, push_action, push_parameters };
}

function showParams(params: CampaignParams): api.CampaignDetails['params'] {
  const {
    push_subtitle = null, deep_linking_url = null, pushAttachment = null, pushCategory = null, push_includes_sound, push_sound_value = null,
    expire_after, inapp = null, message_title = null, message_content = null, message_btn = null, inapp_content_url = null,
    inapp_content_title = null, inapp_content_auto_display = false, inapp_parameters,
  } = params;
  return {
    ...showListedParams(params), push_subtitle, deep_linking_url, pushAttachment, pushCategory, push_includes_sound, push_sound_value,
    expire_after, inapp, message_title, message_content, message_btn, inapp_content_url, inapp_content_title, inapp_content_auto_display,
    inapp_parameters,
  };
}

function toSeconds(date: Date | null): number | null {
  return date && Math.floor(date.getTime() / 1_000);
}

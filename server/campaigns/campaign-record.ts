/** Campaigns as the API shows them. */

import type * as api from '../../api/campaigns/campaigns.ts';
import { showFilters } from '../../domain/analytics/segment-filters.ts';
import { campaignWarnings } from '../../domain/campaigns/campaign-body.ts';
import { type CampaignParams, placeholdersOf } from '../../domain/campaigns/campaign-params.ts';
import { isProfileName, readProfileName } from '../../domain/campaigns/placeholders.ts';
import { reachStateOf, STATUS_NAMES } from '../../domain/campaigns/campaign-status.ts';
import type { SendWindow } from '../../domain/campaigns/send-plan.ts';
import { variantParams } from '../../domain/campaigns/variants.ts';
import { listNextSends } from '../../store/campaigns/campaign-runs.ts';
import {
  type Campaign,
  type CampaignStats,
  listCampaignStats,
  listVariantStats,
  namesOfProfile,
} from '../../store/campaigns/campaigns.ts';
import { creatorOf } from '../../store/core/camel-row.ts';
import type { Queryable } from '../../store/core/database.ts';
import { findControlGroupFigures } from '../../store/sends/control-group-days.ts';
import { findRollup } from '../../store/sends/report-rollups.ts';
import { findInternalError } from '../jobs/show-internal-error.ts';

export async function showCampaigns(
  db: Queryable,
  entityId: number,
  campaigns: readonly Campaign[],
): Promise<api.Campaign[]> {
  const stats = await readStats(db, entityId, campaigns);
  const next = await listNextSends(db, entityId, campaigns);
  return campaigns.map((campaign) => ({
    ...showCampaign(campaign),
    ...showNext(next.get(campaign.id)),
    ...showCounted(campaign, stats),
    params: showListedParams(campaign.params),
    variants: showVariants(campaign, stats, showListedParams),
  }));
}

export async function showDetails(db: Queryable, entityId: number, campaign: Campaign): Promise<api.CampaignDetails> {
  const { filters, type, notifLimit } = campaign;
  const includes = { push: campaign.includesPush, inapp: campaign.includesInapp };
  const all = placeholdersOf(campaign.params, includes);
  const placeholders = type === 'transactional' ? all.filter(({ name }) => !isProfileName(name)) : [];
  const profileValues = new Set(namesOfProfile(campaign));
  const stats = await readStats(db, entityId, [campaign]);
  const figures = await findControlGroupFigures(db, entityId, campaign.id);
  const next = await listNextSends(db, entityId, [campaign]);
  return {
    ...showCampaign(campaign),
    ...showNext(next.get(campaign.id)),
    ...showCounted(campaign, stats),
    campaign_api_identifier: campaign.apiIdentifier,
    source: 'API',
    sensitive: campaign.isSensitive,
    filters: filters && showFilters(filters),
    params: showParams(campaign.params),
    variants: showVariants(campaign, stats, showParams),
    placeholders: placeholders.map(({ name, hasDefault }) => ({ name, required: !hasDefault })),
    profile_values: [...profileValues].map((name) => ({
      name,
      sor_identifier: readProfileName(name)?.sor ?? null,
      attribute_key: readProfileName(name)?.key ?? null,
    })),
    warnings: campaignWarnings([...placeholders, ...[...profileValues].map((name) => ({ name }))], campaign),
    recurrence: campaign.recurrence,
    notif_limit: notifLimit && { maximum: notifLimit.maximum ?? null, interval: notifLimit.interval ?? null },
    control_group: figures && { people: figures.people, devices: figures.devices, opened_app: figures.openedApp },
    targeted: figures && { people: figures.targetedPeople, opened_app: figures.targetedOpenedApp },
    revision: campaign.revision,
    launched_by: creatorOf({ createdBy: campaign.launchedBy, creatorUid: campaign.launcherUid }),
    expected_people: campaign.expectedPeople,
    ended_at: toSeconds(campaign.endedAt),
    failure: campaign.failure,
    internal_error: await findInternalError(db, 'campaign', { entityId, identifier: campaign.identifier }),
  };
}

function showNext(send: SendWindow | undefined) {
  return { next_send_at: toSeconds(send?.from ?? null), next_send_until: toSeconds(send?.until ?? null) };
}

type Stats = { campaigns: Map<number, CampaignStats>; variants: Map<string, CampaignStats>; countedUntil: Date | null };

async function readStats(db: Queryable, entityId: number, campaigns: readonly Campaign[]): Promise<Stats> {
  const tested = campaigns.filter(({ variants }) => variants !== null);
  return {
    campaigns: await listCampaignStats(
      db,
      entityId,
      campaigns.map(({ id }) => id),
    ),
    variants:
      tested.length === 0
        ? new Map()
        : await listVariantStats(
            db,
            entityId,
            tested.map(({ id }) => id),
          ),
    countedUntil: (await findRollup(db, entityId))?.countedUntil ?? null,
  };
}

/** Returns the variants with their messages. A campaign without variants is its only one. */
function showVariants<Shown>(
  { id, identifier, name, params, variants }: Campaign,
  stats: Stats,
  show: (params: CampaignParams) => Shown,
) {
  if (!variants)
    return [{ identifier, name, share: 100, params: show(params), stats: showStats(stats.campaigns.get(id)) }];
  return variants.map((variant) => ({
    identifier: variant.identifier,
    name: variant.name,
    share: variant.share,
    params: show(variantParams(params, variant)),
    stats: showStats(stats.variants.get(variant.identifier)),
  }));
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
    reach_state: reachStateOf(campaign),
  };
}

function showCounted({ id }: Campaign, { campaigns, countedUntil }: Stats) {
  return { stats: showStats(campaigns.get(id)), stats_counted_until: toSeconds(countedUntil) };
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
    push_subtitle = null,
    deep_linking_url = null,
    pushAttachment = null,
    pushCategory = null,
    push_includes_sound,
    push_sound_value = null,
    expire_after,
    inapp = null,
    message_title = null,
    message_content = null,
    message_btn = null,
    inapp_content_url = null,
    inapp_content_title = null,
    inapp_content_auto_display = false,
    inapp_parameters,
  } = params;
  return {
    ...showListedParams(params),
    push_subtitle,
    deep_linking_url,
    pushAttachment,
    pushCategory,
    push_includes_sound,
    push_sound_value,
    expire_after,
    inapp,
    message_title,
    message_content,
    message_btn,
    inapp_content_url,
    inapp_content_title,
    inapp_content_auto_display,
    inapp_parameters,
  };
}

function toSeconds(date: Date | null): number | null {
  return date && Math.floor(date.getTime() / 1_000);
}

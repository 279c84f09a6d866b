import * as api from '../../api/campaigns/campaigns.ts';
import { zoneOf } from '../../domain/campaigns/local-time.ts';
import { scheduleOf, sendPlan } from '../../domain/campaigns/send-plan.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { listDeviceZones } from '../../store/campaigns/campaign-runs.ts';
import { findCampaignByKey } from '../../store/campaigns/campaigns.ts';
import { route } from '../http/route.ts';

const ENDED = ['finished', 'canceled', 'failed'];

/** The coming sends of a campaign to an audience; of a draft, as if it were launched now. */
export const planCampaign = route(
  api.planCampaign,
  async ({ params, query: { limit }, caller: { entityId } }, { db }) => {
    const campaign =
      (await findCampaignByKey(db, entityId, params.identifier)) ?? refuse(404, 'not_found', 'Campaign not found');
    if (campaign.type === 'transactional') {
      refuse(
        409,
        'conflict',
        'A transactional campaign has no plan: each request of POST /api/transac says when its messages go',
      );
    }
    if (ENDED.includes(campaign.status)) return { sends: [], has_more: false };
    const zones = await listDeviceZones(db, entityId, campaign.appId);
    // How many of them filters find is known once the audience is.
    const audience = zones.map(({ timezone, utcOffset: utcOffsetMinutes, devices }) => ({
      zone: zoneOf({ timezone, utcOffsetMinutes }, campaign.appTimezone),
      devices: campaign.filters === null ? devices : null,
    }));
    const now = new Date();
    const { sends, hasMore } = sendPlan(
      scheduleOf(campaign),
      audience,
      { launchedAt: campaign.launchedAt ?? now, from: now },
      limit,
    );
    return {
      sends: sends.map(({ at, until, zones: own, devices }) => ({
        at: at.toISOString(),
        until: until?.toISOString() ?? null,
        zones: own,
        devices,
      })),
      has_more: hasMore,
    };
  },
);

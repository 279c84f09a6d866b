import { type CampaignSettings, insertCampaign, launchCampaign } from '../../../store/campaigns/campaigns.ts';
import type { Queryable } from '../../../store/core/database.ts';

export type SampleCampaigns = { draft: string; ongoing: string; classic: string };

/** The body of a transactional campaign with a push, and whatever else. */
export function campaignBody(appIdentifier: string, others: Record<string, unknown> = {}): Record<string, unknown> {
  const { type = 'transactional' } = others;
  const what = type === 'transactional' ? 'parcel *@parcel@*' : 'parcel';
  return {
    name: 'Parcel',
    type: 'transactional',
    source: 'API',
    app_id: appIdentifier,
    includes_push: true,
    includes_inapp: false,
    start_date: 'now',
    params: { push_message: `Your ${what} leaves, *@name|dear customer@*` },
    ...others,
  };
}

/** Campaigns with a push: a transactional draft, one that takes messages, and a classic draft. */
export async function insertSampleCampaigns(
  tx: Queryable,
  entityId: number,
  appId: number,
  userId: number,
): Promise<SampleCampaigns> {
  const settings: CampaignSettings = {
    appId,
    name: 'Parcel',
    type: 'transactional',
    includesPush: true,
    includesInapp: false,
    startDate: null,
    endDate: null,
    adaptTz: false,
    skipMessageLimit: false,
    isSensitive: false,
    filters: null,
    variants: null,
    recurrence: null,
    notifLimit: null,
    params: {
      push_message: 'Your parcel *@parcel@* leaves',
      push_includes_sound: true,
      push_parameters: [],
      expire_after: 3_600,
      inapp_parameters: [],
    },
  };
  const draft = (await insertCampaign(tx, entityId, settings, userId))!;
  const ongoing = (await insertCampaign(tx, entityId, settings, userId))!;
  await launchCampaign(tx, entityId, ongoing.id, { userId, expectedPeople: null });
  const params = { ...settings.params, push_message: 'News' };
  const classic = (await insertCampaign(tx, entityId, { ...settings, type: 'classic', params }, userId))!;
  return { draft: draft.identifier, ongoing: ongoing.identifier, classic: classic.identifier };
}

import * as api from '../../api/files/campaign-files.ts';
import { readCampaignFilter } from '../campaigns/campaigns.ts';
import type { Route } from '../http/route.ts';
import { fileRoutes } from './file-routes.ts';

export const campaignFileRoutes: Route[] = fileRoutes(
  [api.exportCampaigns, api.exportCampaignsAs],
  async ({ query, caller: { entityId } }, { db }) => {
    const { createdFrom, createdBefore, ...filter } = await readCampaignFilter(db, entityId, query);
    const period = {
      createdFrom: createdFrom?.toISOString() ?? null,
      createdBefore: createdBefore?.toISOString() ?? null,
    };
    return {
      kind: 'campaigns',
      query: { filter: { ...filter, ...period }, order: query.order ?? 'created_at' },
      audits: [{ subjectKind: 'campaign', details: { what: 'campaigns' } }],
    };
  },
);

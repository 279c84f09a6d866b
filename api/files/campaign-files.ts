import { listCampaigns } from '../campaigns/campaigns.ts';
import { fileExport } from './file-exports.ts';

export const [exportCampaigns, exportCampaignsAs] = fileExport({
  tag: 'Campaigns',
  id: 'exportCampaigns',
  path: '/api/campaigns/list_export',
  right: 'campaign_view',
  audits: 'export campaign',
  summary: 'Export the list of campaigns',
  query: listCampaigns.query!.omit({ limit: true, offset: true }),
});

import { z } from 'zod';
import { FILE_DAYS } from '../../domain/files/file-format.ts';
import { commaList, identifier, isoDatetime } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const MAX_APPS = 100;

/** Outcomes of apps' messages (reference: Campaign logs). */
export const reportCampaignLogs = operation({
  id: 'reportCampaignLogs',
  tag: 'Campaigns',
  method: 'GET',
  path: '/api/apps_campaign_logs',
  right: 'campaign_view',
  summary: 'Report the messages of apps in a period, one CSV file for each app',
  description:
    'The result is `Report being processed` until all files are built: call again with the same parameters. The links work for ' +
    `${FILE_DAYS} days. Until then the same app and period are the same file.`,
  audits: 'export app',
  query: z.object({
    apps: commaList.pipe(z.array(identifier).min(1).max(MAX_APPS, `must have at most ${MAX_APPS} elements`)),
    from: isoDatetime.describe('First moment, such as 2026-01-31 12:30:00; at most 30 days back. UTC without a zone'),
    till: isoDatetime.describe('Last moment, in the past. UTC without a zone'),
  }),
  result: z
    .union([z.literal('Report being processed'), z.object({ report_urls: z.array(z.string()) })])
    .describe('`report_urls` in the order of `apps`')
    .meta({ id: 'CampaignLogs' }),
});

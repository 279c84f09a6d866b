import type { FileSource } from './file-source.ts';
import { campaignList, campaignLogs } from './file-sources/campaigns.ts';
import { customerProfiles } from './file-sources/customer-profiles.ts';
import { usageListFile } from './file-sources/usage-lists.ts';
import { crashOccurrences, eventCounts, eventDetails, performance } from './file-sources/usage.ts';

export const fileSources = {
  events: usageListFile('events'),
  sessions: usageListFile('sessions'),
  devices: usageListFile('devices'),
  segment_devices: usageListFile('segment_devices'),
  locations: usageListFile('locations'),
  customer_profiles: customerProfiles,
  performance,
  // A kind of its own for one app, because it needs another right.
  download_metrics: performance,
  event_counts: eventCounts,
  event_details: eventDetails,
  crash_occurrences: crashOccurrences,
  campaigns: campaignList,
  campaign_logs: campaignLogs,
} satisfies Record<string, FileSource<never>>;

export type FileKind = keyof typeof fileSources;
export type FileQuery<Kind extends FileKind> = Parameters<(typeof fileSources)[Kind]['rows']>[2];

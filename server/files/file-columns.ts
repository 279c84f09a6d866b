import { replaceBetween } from '../../domain/text/replace-between.ts';
import { type FileKind, fileSources } from '../../store/files/file-sources.ts';

const TITLES: Record<FileKind, string> = {
  events: '`events_export` of an app',
  sessions: '`sessions_export`',
  devices: '`devices_export` of an app',
  segment_devices: '`devices_export` of a segment',
  locations: '`locations_export`',
  customer_profiles: '`customer_profiles/export`',
  performance: '`performance_export`',
  download_metrics: '`download_metrics`',
  event_counts: '`events_export`',
  event_details: '`event_details_export`',
  crash_occurrences: '`export_occurrences`',
  campaigns: '`campaigns/list_export`',
  campaign_logs: '`apps_campaign_logs`',
};

const [START, END] = ['<!-- columns: made from the code by `npm run docs` -->', '<!-- end of columns -->'];

export function withFileColumns(page: string): string {
  return replaceBetween(page, [START, END], table());
}

function table(): string {
  const named = (columns: readonly string[]) => columns.map((column) => `\`${column}\``).join(', ') || '–';
  const rows = Object.entries(fileSources).map(
    ([kind, { columns, numbers }]) => `| ${TITLES[kind as FileKind]} | ${named(columns)} | ${named(numbers)} |`,
  );
  return ['| file | columns, in their order | numbers in a sheet |', '|---|---|---|', ...rows].join('\n');
}

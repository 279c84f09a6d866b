/** Types of data that an exporter may export, in the order in which a run writes them. */
export const EXPORT_DATA_TYPES = [
  'sessions',
  'sessions_with_carrier',
  'logs',
  'details',
  'locations',
  'devices',
  'crashes',
  'campaign_results_per_user',
  'attributes',
] as const;

export type ExportDataType = (typeof EXPORT_DATA_TYPES)[number];

/** Other names of the reference's examples for the same. */
const ALIASES: Record<string, ExportDataType> = { app_devices: 'devices', crashes_values: 'crashes' };

/** Types whose rows never change: a window exported again is the same, but for erased people and retention. */
export const APPEND_ONLY: ReadonlySet<ExportDataType> = new Set(['logs', 'details', 'locations', 'crashes']);

export function exportDataType(name: string): ExportDataType | undefined {
  return Object.hasOwn(ALIASES, name) ? ALIASES[name] : EXPORT_DATA_TYPES.find((type) => type === name);
}

export const EXPORT_FORMATS = ['csv', 'jsonl', 'parquet'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

/** How a customer's bucket is reached: by a role in that AWS account, or by an access key. */
export const EXPORTER_TYPES = ['aws_account_id', 'aws_secret_key'] as const;

export const EXPORT_RUN_STATES = ['accepted', 'running', 'finished', 'failed', 'canceled'] as const;

/** Causes of a run; the first two continue where the last good run ended. */
export const EXPORT_RUN_CAUSES = ['schedule', 'request', 'rerun', 'backfill'] as const;

/** Kinds of alerts about runs; `late`: rows of earlier windows came after their export. */
export const EXPORT_ALERTS = ['failed', 'paused', 'recovered', 'late'] as const;
export type ExportAlert = (typeof EXPORT_ALERTS)[number];

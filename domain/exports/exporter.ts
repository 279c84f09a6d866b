/** How a customer's bucket is reached: by a role in that AWS account, or by an access key. */
export const EXPORTER_TYPES = ['aws_account_id', 'aws_secret_key'] as const;

export const EXPORT_RUN_STATES = ['accepted', 'running', 'finished', 'failed', 'canceled'] as const;

/** Those of the first two go on where the last good run ended. */
export const EXPORT_RUN_CAUSES = ['schedule', 'request', 'rerun', 'backfill'] as const;

/** What is to be mailed of a run: `late` that rows of earlier windows came after these were exported. */
export const EXPORT_ALERTS = ['failed', 'paused', 'recovered', 'late'] as const;
export type ExportAlert = (typeof EXPORT_ALERTS)[number];

import type { RunRef } from '../../store/syncs/sync-runs.ts';

/** A run as one workflow holds it: a step of an older generation ends without effect. */
export type ExportClaim = RunRef & { generation: number };

import type { RunRef } from '../../store/syncs/sync-runs.ts';

export type { RunRef };

/** A run as one workflow holds it: a step of an older generation ends without effect. */
export type RunClaim = RunRef & { generation: number };

import type { JobRef } from '../../domain/jobs/job.ts';

export type { JobRef };

/** A run as one workflow holds it: a step of an older generation ends without effect. */
export type RunClaim = JobRef & { generation: number };

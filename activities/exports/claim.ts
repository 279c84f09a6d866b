import type { JobRef } from '../../domain/jobs/job.ts';

/** A run as one workflow holds it: a step of an older generation ends without effect. */
export type ExportClaim = JobRef & { generation: number };

import type { ImportRef } from '../../store/jobs/across-entities.ts';

/** An import as one workflow run holds it: a step of an older generation ends without effect. */
export type ImportClaim = ImportRef & { generation: number; toFetch: boolean };

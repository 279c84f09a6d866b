/** Jobs: work that a workflow does for an object. Their kinds, references and workflow ids. */
import { Refusal } from '../core/refusal.ts';

export type JobRef = { entityId: number; jobId: number; identifier: string };
/** The job as one workflow holds it: a step of an older generation ends without effect. */
export type JobClaim = JobRef & { generation: number };
export type JobKey = Omit<JobClaim, 'identifier'>;

export function jobRefOf({
  entityId,
  id: jobId,
  identifier,
}: {
  entityId: number;
  id: number;
  identifier: string;
}): JobRef {
  return { entityId, jobId, identifier };
}

const KINDS = {
  import: { workflow: 'importAttributes', idPrefix: 'import', logField: 'import', name: 'an import' },
  sync: { workflow: 'runSync', idPrefix: 'sync', logField: 'syncRun', name: 'a run of a sync' },
  export: { workflow: 'exportDaily', idPrefix: 'export', logField: 'exportRun', name: 'a run of an exporter' },
  file: { workflow: 'buildFile', idPrefix: 'file', logField: 'file', name: 'a file' },
  send: { workflow: 'sendTransactional', idPrefix: 'transac', logField: 'send', name: 'a send' },
  campaign: { workflow: 'runCampaign', idPrefix: 'campaign', logField: 'campaign', name: 'a campaign' },
  access: { workflow: 'gdprAccess', idPrefix: 'gdpr', logField: 'gdprRequest', name: 'an access request' },
  delete: { workflow: 'gdprDelete', idPrefix: 'gdpr', logField: 'gdprRequest', name: 'a deletion request' },
} as const;

export type JobKind = keyof typeof KINDS;
export const JOB_KINDS = Object.keys(KINDS) as JobKind[];

/** Returns the id of a job's one workflow: starting it twice finds the first. */
export function jobWorkflowId(kind: JobKind, identifier: string): string {
  return `${KINDS[kind].idPrefix}/${identifier}`;
}

export function jobWorkflow(kind: JobKind): (typeof KINDS)[JobKind]['workflow'] {
  return KINDS[kind].workflow;
}

/** Returns null for a flow that is no job. */
export function jobKindOf(workflow: string): JobKind | null {
  return JOB_KINDS.find((kind) => KINDS[kind].workflow === workflow) ?? null;
}

/** The stage of work while other work of its worker has all slots. */
export const WAITING_FOR_SLOT = 'waiting for a free place';

export function logOfJob(kind: JobKind, identifier: string): { fields: Record<string, string>; name: string } {
  const { logField, name } = KINDS[kind];
  return { fields: { [logField]: identifier }, name };
}

/** The job is another workflow's, has ended, or is deleted. Workflows know it by its status. */
export class JobGone extends Refusal {
  constructor() {
    super(409, 'request_gone', 'The job is under way elsewhere, or over.');
  }
}

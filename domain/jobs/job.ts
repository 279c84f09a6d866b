/** What a workflow works on, by its row and by the name that the API shows. */
export type JobRef = { entityId: number; runId: number; identifier: string };

/** The same of a row. */
export function jobRefOf({ entityId, id: runId, identifier }: { entityId: number; id: number; identifier: string }): JobRef {
  return { entityId, runId, identifier };
}

/** Each kind of job: the type of its workflow, and how the ids of its workflows begin. */
const KINDS = {
  import: { workflow: 'importAttributes', idPrefix: 'import' },
  sync: { workflow: 'runSync', idPrefix: 'sync' },
  export: { workflow: 'exportDaily', idPrefix: 'export' },
  access: { workflow: 'gdprAccess', idPrefix: 'gdpr' },
  delete: { workflow: 'gdprDelete', idPrefix: 'gdpr' },
} as const;

export type JobKind = keyof typeof KINDS;

/** One job, one workflow: starting it twice finds the first. */
export function jobWorkflowId(kind: JobKind, identifier: string): string {
  return `${KINDS[kind].idPrefix}/${identifier}`;
}

export function jobWorkflow(kind: JobKind): (typeof KINDS)[JobKind]['workflow'] {
  return KINDS[kind].workflow;
}

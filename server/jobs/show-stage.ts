/** The `stage` of a job as its record has it: what a job that has ended was at last says nothing. */
export function stageOf({ state, stage }: { state: string; stage: string | null }): string | null {
  return state === 'running' ? stage : null;
}

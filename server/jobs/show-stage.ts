/** Returns the `stage` of a job; null once it has ended. */
export function stageOf({ state, stage }: { state: string; stage: string | null }): string | null {
  return state === 'running' ? stage : null;
}

import type { ImportProgress } from '../../api/client.ts';

/** Whether an import or a run has ended, and its counts are final. */
export function hasEnded({ ended_at: ended }: Pick<ImportProgress, 'ended_at'>): boolean {
  return ended !== null;
}

import type { ImportProgress } from '../../api/client.ts';

/** Returns whether an import or a run has ended, so that its counts are final. */
export function hasEnded({ ended_at: ended }: Pick<ImportProgress, 'ended_at'>): boolean {
  return ended !== null;
}

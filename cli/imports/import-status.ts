import type { ImportProgress } from '../../api/client.ts';

export function hasEnded({ ended_at: ended }: Pick<ImportProgress, 'ended_at'>): boolean {
  return ended !== null;
}

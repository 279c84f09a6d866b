/** State and counts of a segment in words. */
import type { Segment } from '../../../api/client.ts';
import { Chip } from '../../parts/head.tsx';
import { countText } from '../../parts/values.tsx';

const TONES = { computing: 'info', active: 'ok', failed: 'bad' } as const;

export function SegmentChip({ segment: { state } }: { segment: Pick<Segment, 'state'> }) {
  return <Chip tone={TONES[state]}>{state}</Chip>;
}

/** Returns a count of a snapshot; a dash until there is one, or for a caller who may not see it. */
export function ofSnapshot(
  { snapshot_at: at, preview }: Pick<Segment, 'snapshot_at' | 'preview'>,
  read: (preview: NonNullable<Segment['preview']>) => number,
): string {
  return at === null || preview === null ? '–' : countText(read(preview));
}

export const isWaiting = ({ state }: Pick<Segment, 'state'>): boolean => state === 'computing';

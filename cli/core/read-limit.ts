import { refuse } from '../../domain/core/refusal.ts';

const MAX_ENTRIES = 10_000;

/** Returns the number that `--limit` gives, or refuses it. */
export function readLimit({ limit }: { limit: string }): number {
  const max = Number(limit);
  if (!Number.isSafeInteger(max) || max < 1 || max > MAX_ENTRIES)
    refuse(400, 'bad_limit', '--limit takes a whole number from 1 to 10,000.');
  return max;
}

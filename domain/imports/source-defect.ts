import type { GzipDefect } from '../core/gunzip.ts';

export const SOURCE_DEFECTS: Record<Exclude<GzipDefect, 'too_large'>, string> = {
  cut_off: 'the gzip file is cut off: its end is missing',
  corrupt: 'the gzip file is corrupt: its checksum, its length or what it holds is wrong',
  trailing_bytes: 'behind the end of the gzip file stand bytes that are no gzip, and were not read',
};

/** Returns whether rows of a file with this defect may be wrong; then none is imported. */
export function isDamage(defect: string | null): boolean {
  return defect === SOURCE_DEFECTS.corrupt;
}

/** Returns whether the last row of a file with this defect may be incomplete. */
export function isCutOff(defect: string | null): boolean {
  return defect !== null && defect !== SOURCE_DEFECTS.trailing_bytes;
}

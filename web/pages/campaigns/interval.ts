import { shareInterval } from '../../../domain/analytics/sample-error.ts';

/** Returns the 95 % interval of a share: `21.3 to 27.0 %`. */
export function intervalText(part: number, whole: number): string {
  if (whole === 0) return '';
  const { middle, half } = shareInterval(part, whole);
  const [low, high] = [middle - half, middle + half].map((end) => (100 * Math.min(1, Math.max(0, end))).toFixed(1));
  return `${low} to ${high} %`;
}

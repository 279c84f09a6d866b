/** Two standard deviations hold 95 of 100 results. */
const Z = 1.96;

/** Returns the 95 % interval of a share (Wilson, 1927), which also holds for small numbers: `21.3 to 27.0 %`. */
export function intervalText(part: number, whole: number): string {
  if (whole === 0) return '';
  const share = part / whole;
  const scale = 1 + Z ** 2 / whole;
  const middle = (share + Z ** 2 / (2 * whole)) / scale;
  const half = (Z / scale) * Math.sqrt((share * (1 - share)) / whole + Z ** 2 / (4 * whole ** 2));
  const [low, high] = [middle - half, middle + half].map((end) => (100 * Math.min(1, Math.max(0, end))).toFixed(1));
  return `${low} to ${high} %`;
}

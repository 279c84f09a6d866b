/** How far an answer may be off: estimates from the sample, and shares of people. */

const Z_95 = 1.96;

/**
 * Returns by how many people an estimate may be off with 95 % certainty; `counted` is of the sample, where one person
 * stands for `peoplePerSampled`. The upper end of Wilson's interval (1927), which also holds for small numbers.
 */
export function sampleError(counted: number, peoplePerSampled: number): number {
  const half = Z_95 ** 2 / 2;
  const spread = counted * (1 - 1 / peoplePerSampled) + half / 2;
  return Math.ceil(peoplePerSampled * (half + Z_95 * Math.sqrt(spread)));
}

/**
 * Returns middle and half of the 95 % interval (Wilson, 1927) of the share `part / whole`, which also holds for small
 * numbers; `whole` are people who were looked at, of the sample in a fast answer.
 */
export function shareInterval(part: number, whole: number): { middle: number; half: number } {
  const share = part / whole;
  const square = Z_95 ** 2;
  const scale = 1 + square / whole;
  const half = (Z_95 / scale) * Math.sqrt((share * (1 - share)) / whole + square / (4 * whole ** 2));
  return { middle: (share + square / (2 * whole)) / scale, half };
}

/** How far an answer may be off: estimates from the sample, and shares of people. */

const Z_95 = 1.96;
/** With 95 % certainty a number that the sample lacks is below three times its spacing ("rule of three"). */
const OF_NONE = 3;

/**
 * Returns by how many people an estimate may be off with 95 % certainty (binomial); `counted` is of the sample, where
 * one person stands for `peoplePerSampled`.
 */
export function sampleError(counted: number, peoplePerSampled: number): number {
  if (counted === 0) return OF_NONE * peoplePerSampled;
  return Math.ceil(Z_95 * peoplePerSampled * Math.sqrt(counted * (1 - 1 / peoplePerSampled)));
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

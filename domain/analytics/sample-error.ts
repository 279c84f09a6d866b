/** How far an answer may be off: estimates from the sample, and shares of people. */
import { SAMPLED_ONE_IN } from './funnel.ts';

const Z_95 = 1.96;
/** With 95 % certainty a number that the sample lacks is below three times its spacing ("rule of three"). */
const OF_NONE = 3;

/** Returns by how many people an estimate may be off with 95 % certainty; `counted` is of the sample (binomial). */
export function sampleError(counted: number): number {
  if (counted === 0) return OF_NONE * SAMPLED_ONE_IN;
  return Math.ceil(Z_95 * SAMPLED_ONE_IN * Math.sqrt(counted * (1 - 1 / SAMPLED_ONE_IN)));
}

/**
 * Returns half of the 95 % interval (Wilson's) of the share `part / whole`; `whole` are people who were looked at, of
 * the sample in a fast answer.
 */
export function shareError(part: number, whole: number): number {
  const share = part / whole;
  const square = Z_95 ** 2;
  return (Z_95 / (1 + square / whole)) * Math.sqrt((share * (1 - share)) / whole + square / (4 * whole ** 2));
}

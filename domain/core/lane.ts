import { fnv1a } from './fnv1a.ts';

/**
 * Which lane a customer's rows go by: the same at all times, as a lane goes on where it stopped under another process.
 */
export function laneOf(customerId: string, lanes: number): number {
  return lanes === 1 ? 0 : (fnv1a(customerId) >>> 8) % lanes;
}

import type { FastifyBaseLogger } from 'fastify';
import { faultOf } from '../../domain/core/fault.ts';

/**
 * Waits for what follows from a request once it is written down. A failure is no failure of the request, since the sweep makes up for
 * it: it is logged with the fields that name its object.
 */
export async function leftToSweep(log: FastifyBaseLogger, done: Promise<void>, named: object, what: string): Promise<void> {
  await done.catch((error: unknown) => log.warn({ ...named, ...faultOf(error) }, `${what} is left to the sweep`));
}

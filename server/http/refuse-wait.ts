import { Refusal, refuse } from '../../domain/core/refusal.ts';
import { TooManyWait } from '../../domain/core/semaphore.ts';

const RETRY_SECONDS = 10;

/**
 * Turns what kept a caller from a place into a refusal: 429 for a full line, 503 for a wait that is over
 * (`AbortSignal.timeout`), and 499 for a caller who hung up, which logs and metrics alone read. `what`: what waits, in
 * the plural. Throws any other error as it is.
 */
export function refuseWait(error: unknown, what: string, hungUp?: AbortSignal): never {
  if (hungUp?.aborted) throw new Refusal(499, 'hung_up', 'The caller hung up');
  const again = `try again in ${RETRY_SECONDS} seconds`;
  if (error instanceof TooManyWait) {
    return refuse(429, 'too_many_requests', `${error.waiting} ${what} wait already: ${again}`, {
      retry_after: RETRY_SECONDS,
    });
  }
  if (!(error instanceof Error && error.name === 'TimeoutError')) throw error;
  return refuse(503, 'service_unavailable', `Other ${what} are under way: ${again}`, { retry_after: RETRY_SECONDS });
}

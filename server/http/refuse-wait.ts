import { Refusal, refuse } from '../../domain/core/refusal.ts';
import { TooManyWait } from '../../domain/core/semaphore.ts';

const RETRY_SECONDS = 10;

/** Refuses with 429 for a full queue, 503 for a timeout, 499 (only logged) for a lost caller. Rethrows others. */
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

/** Bounds reads that may look at all events of a period. */

import type { CpuShare } from '../../domain/core/cpu-share.ts';
import { openPlaces } from '../../domain/core/limits.ts';
import { Refusal, refuse } from '../../domain/core/refusal.ts';
import type { Semaphore } from '../../domain/core/semaphore.ts';
import { FUNNEL_TIMEOUT_MS } from '../../store/analytics/funnel-sessions.ts';
import { isQueryCanceled } from '../../store/core/database.ts';
import type { Caller } from '../http/caller.ts';
import { refuseWait } from '../http/refuse-wait.ts';

const RESTART_SECONDS = 1;
const TRANSACTION_TIMEOUT = '25P04';
export const HEAVY_READ_MS = FUNNEL_TIMEOUT_MS;

/** `fast` reads the sample alone, and does not stand behind those that read all events. */
export type HeavyRead = 'exact' | 'fast';

type Reader = Pick<Caller, 'entityId' | 'userId' | 'serviceTokenId'>;

/** Identifies a member of an entity, who has places: a service token, or a person. */
const keyOf = ({ serviceTokenId, userId }: Reader) => (serviceTokenId === null ? userId : -serviceTokenId);

/**
 * Shares these reads out by entity, and within an entity by caller; one slot stays free for other entities. Postgres
 * stops computing if a caller hangs up.
 */
export class HeavyReads {
  readonly #take: Record<HeavyRead, Semaphore>;
  readonly #closing = new AbortController();

  constructor(cpuShare: CpuShare) {
    this.#take = { exact: openPlaces('heavyReads', cpuShare), fast: openPlaces('fastReads', cpuShare) };
  }

  /** Refuses with 429 if too many wait, with 503 if it takes too long. `read` ends its statements on its signal. */
  async within<T>(
    caller: Reader,
    hungUp: AbortSignal,
    read: (signal: AbortSignal) => Promise<T>,
    kind: HeavyRead = 'exact',
  ): Promise<T> {
    const signal = AbortSignal.any([hungUp, this.#closing.signal]);
    try {
      const release = await this.#take[kind](caller.entityId, undefined, signal, keyOf(caller));
      try {
        return await read(signal);
      } finally {
        release();
      }
    } catch (error) {
      this.#closing.signal.throwIfAborted();
      const tookLong = isQueryCanceled(error) || (error as { code?: string }).code === TRANSACTION_TIMEOUT;
      if (hungUp.aborted || !tookLong) return refuseWait(error, 'funnels and previews', hungUp);
      return refuse(
        503,
        'too_long',
        `This took longer than ${HEAVY_READ_MS / 1_000} seconds: ask for a shorter period`,
      );
    }
  }

  close(): void {
    const message = 'This server is ending. Please try again';
    this.#closing.abort(new Refusal(503, 'service_unavailable', message, { retry_after: RESTART_SECONDS }));
  }
}

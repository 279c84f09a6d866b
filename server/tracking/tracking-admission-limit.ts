import { refuse } from '../../domain/core/refusal.ts';

const RETRY_SECONDS = 1;

/** Bounds what waits to be taken in: bytes of bodies, of which each is let in where it is alone. */
export class TrackingAdmissionLimit {
  readonly #mostBytes: number;
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Does the work of a body of so many bytes, or refuses with 429 and when to try again, as SDKs do. */
  async within<T>(bytes: number, work: () => Promise<T>): Promise<T> {
    if (this.#bytes > 0 && this.#bytes + bytes > this.#mostBytes) {
      const message = `Too much waits to be taken in: try again in ${RETRY_SECONDS} second`;
      refuse(429, 'too_many_requests', message, { retry_after: RETRY_SECONDS });
    }
    this.#bytes += bytes;
    try {
      return await work();
    } finally {
      this.#bytes -= bytes;
    }
  }
}

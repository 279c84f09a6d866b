/** Bounds the time of an answer: deadlines, and a least rate for streams. */
import type { Readable } from 'node:stream';
import { sourceRefusal } from './source-refusal.ts';

/** A stream must bring `leastBytes` in each `withinMs` in which its reader waits. */
export type LeastRate = { leastBytes: number; withinMs: number };

/** Ends a request by its signal, up to the end of its answer. */
export type Deadline = { signal: AbortSignal; answered(): void; end(): void };

/** Returns a deadline `totalMs` after `began`, a time of `performance.now()`. */
export function deadlineOf(host: string, totalMs: number, began: number): Deadline {
  const controller = new AbortController();
  let status: 'source_unavailable' | 'transfer_broken' = 'source_unavailable';
  const expire = () => controller.abort(sourceRefusal(status, tooLong(host, totalMs)));
  const timer = setTimeout(expire, Math.max(0, began + totalMs - performance.now()));
  return {
    signal: controller.signal,
    answered: () => {
      status = 'transfer_broken';
    },
    end: () => clearTimeout(timer),
  };
}

/** Breaks off a body that does not end in time. */
export function endWithin(body: Readable, host: string, ms: number): void {
  const timer = setTimeout(() => body.destroy(sourceRefusal('transfer_broken', tooLong(host, ms))), ms);
  body.once('close', () => clearTimeout(timer));
}

const tooLong = (host: string, ms: number) => `The answer of ${host} did not end within ${ms / 1000} s`;

/**
 * Yields the chunks of a body, and refuses one that is slower than `rate`. Time in which the reader does not wait is
 * not counted.
 */
export async function* atLeast(
  bytes: AsyncIterable<unknown>,
  host: string,
  rate: LeastRate,
): AsyncGenerator<Buffer, void, undefined> {
  const chunks = bytes[Symbol.asyncIterator]();
  let received = 0;
  let waitedMs = 0;
  for (;;) {
    const from = performance.now();
    const next = await within(chunks.next(), rate.withinMs - waitedMs, () => tooSlow(host, rate));
    if (next.done === true) return;
    const chunk = next.value as Buffer;
    received += chunk.length;
    waitedMs += performance.now() - from;
    if (received >= rate.leastBytes) {
      received = 0;
      waitedMs = 0;
    }
    yield chunk;
  }
}

async function within<T>(awaited: Promise<T>, ms: number, refusal: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(refusal()), Math.max(0, ms));
  });
  try {
    return await Promise.race([awaited, late]);
  } finally {
    clearTimeout(timer);
    // After a refusal the awaited chunk fails, too.
    awaited.catch(() => undefined);
  }
}

function tooSlow(host: string, { leastBytes, withinMs }: LeastRate): Error {
  const time = withinMs === 60_000 ? 'a minute' : `in ${withinMs / 1000} s`;
  return sourceRefusal('transfer_broken', `The answer of ${host} came slower than ${leastBytes / 1024} KiB ${time}`);
}

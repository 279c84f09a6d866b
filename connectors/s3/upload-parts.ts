/** Uploads a stream in parts. */
import { sourceRefusal } from '../core/source-refusal.ts';

/** The requests of an upload; each is retried by itself. */
export type UploadSteps<Part> = {
  put(body: Buffer): Promise<string | null>;
  begin(): Promise<string>;
  part(uploadId: string, number: number, body: Buffer, signal: AbortSignal): Promise<Part>;
  complete(uploadId: string, parts: Part[], bytes: number): Promise<string | null>;
  abort(uploadId: string): Promise<void>;
};

const MIB = 1024 * 1024;

/**
 * Amazon takes 10,000 parts of at least 5 MiB, except the last (Amazon S3: multipart upload limits). Memory holds the
 * parts that are being uploaded, and the one that is being filled.
 */
const LIMITS = { parts: 10_000, leastPartBytes: 8 * MIB, heldBytes: 32 * MIB };
/** Time in which other parts may still arrive after one has failed. */
const ARRIVAL_MS = 5_000;

/**
 * Uploads a stream that fits into one part with one request, a larger one in concurrent parts. After a failure no other
 * part begins, the upload is aborted and the failure is thrown. `maxBytes`: expected maximum; a larger stream is
 * refused when parts run out.
 */
export async function uploadParts<Part>(
  bytes: AsyncIterable<Uint8Array>,
  maxBytes: number,
  steps: UploadSteps<Part>,
  limits = LIMITS,
): Promise<{ bytes: number; checksum: string | null }> {
  const partBytes = Math.max(limits.leastPartBytes, Math.ceil(maxBytes / limits.parts / MIB) * MIB);
  const spare: Buffer[] = [];
  const underWay = lanes(Math.max(1, Math.floor(limits.heldBytes / partBytes) - 1));
  const parts: Part[] = [];
  let uploadId: string | undefined;
  let [count, total] = [0, 0];
  try {
    for await (const { buffer, length, isLast } of filled(
      bytes,
      () => spare.pop() ?? Buffer.allocUnsafeSlow(partBytes),
    )) {
      const body = buffer.subarray(0, length);
      total += length;
      if (count === 0 && isLast) return { bytes: total, checksum: await steps.put(body) };
      if (count === limits.parts)
        throw sourceRefusal('too_large', 'the file has more parts than S3 takes: make part_bytes smaller');
      const [id, number] = [(uploadId ??= await steps.begin()), (count += 1)];
      await underWay.add(async () => {
        parts[number - 1] = await steps.part(id, number, body, underWay.signal);
        spare.push(buffer);
      });
    }
    await underWay.through();
    return { bytes: total, checksum: await steps.complete(uploadId!, parts, total) };
  } catch (error) {
    await underWay.end(error);
    if (uploadId !== undefined) await steps.abort(uploadId).catch(() => undefined);
    throw error;
  }
}

type Filled = { buffer: Buffer; length: number; isLast: boolean };

/** Yields the bytes in full buffers; the last one may be shorter or empty. */
async function* filled(bytes: AsyncIterable<Uint8Array>, take: () => Buffer): AsyncGenerator<Filled, void, undefined> {
  let [buffer, length] = [take(), 0];
  for await (const chunk of bytes) {
    for (let from = 0; from < chunk.length;) {
      if (length === buffer.length) {
        yield { buffer, length, isLast: false };
        [buffer, length] = [take(), 0];
      }
      const piece = chunk.subarray(from, from + buffer.length - length);
      buffer.set(piece, length);
      length += piece.length;
      from += piece.length;
    }
  }
  yield { buffer, length, isLast: true };
}

/**
 * Runs a limited number of parts at once. After a failure `add` throws it. Running parts may finish first: a part whose
 * request is ended may be stored after its upload was aborted (Amazon S3 API reference: AbortMultipartUpload).
 */
function lanes(most: number) {
  const controller = new AbortController();
  const running = new Set<Promise<void>>();
  let failure: { error: unknown } | undefined;
  let late: NodeJS.Timeout | undefined;
  const fail = (error: unknown) => {
    failure ??= { error };
    late ??= setTimeout(() => controller.abort(error), ARRIVAL_MS);
  };
  return {
    signal: controller.signal,
    /** Waits for a free lane, not for the work. */
    async add(work: () => Promise<unknown>): Promise<void> {
      while (running.size >= most) await Promise.race(running);
      if (failure) throw failure.error;
      const lane: Promise<void> = work()
        .then(() => undefined, fail)
        .finally(() => running.delete(lane));
      running.add(lane);
    },
    async through(): Promise<void> {
      await Promise.all(running);
      if (failure) throw failure.error;
    },
    /** Waits for running parts, and ends them when they take too long. */
    async end(error: unknown): Promise<void> {
      fail(error);
      await Promise.all(running);
      clearTimeout(late);
    },
  };
}

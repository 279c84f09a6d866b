import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';

/** The least that a reader has to take of a streamed answer in each `withinMs` in which there is more to take. */
export type ReaderRate = { leastBytes: number; withinMs: number };

/**
 * Breaks a streamed answer off whose reader takes less: until then the answer holds its piece in memory, and maybe a
 * place.
 */
export function endSlowReader(response: ServerResponse, body: Readable, { leastBytes, withinMs }: ReaderRate): void {
  const { socket } = response;
  if (!socket) return;
  const taken = () => socket.bytesWritten - socket.writableLength;
  let before = taken();
  const timer = setInterval(() => {
    const isSlow = response.writableNeedDrain && taken() - before < leastBytes;
    before = taken();
    // The answer has begun: to end the connection is the only way to say that it is not whole.
    if (isSlow) response.destroy();
  }, withinMs);
  response.once('close', () => {
    clearInterval(timer);
    body.destroy();
  });
}

import type { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type Reply, streamedCsvFile, streamedList, streamedResult } from '../../../server/http/reply.ts';
import { waitFor } from '../../harness/core/wait.ts';

/** Rows that hold something, as a cursor holds its session, until they are ended. */
function heldRows<T>(row: T) {
  const held = { isHeld: false };
  async function* rows(): AsyncGenerator<T> {
    held.isHeld = true;
    try {
      for (;;) {
        await Promise.resolve();
        yield row;
      }
    } finally {
      held.isHeld = false;
    }
  }
  return { held, rows: rows() };
}

const REPLIES: Record<string, (held: ReturnType<typeof heldRows<string[]>>) => Promise<Reply>> = {
  'a list': ({ rows }) => streamedList(rows),
  'a result': ({ rows }) => streamedResult('items', rows),
  'a CSV file': ({ rows }) => streamedCsvFile('file', ['head'], rows),
};

describe.each(Object.entries(REPLIES))('%s that is written as its rows come', (_, replyWith) => {
  it.each([
    ['before its first piece is read, as for HEAD', 0],
    ['while it is read', 1],
  ])('gives back what its rows hold if it ends %s', async (_, pieces) => {
    const source = heldRows(['x'.repeat(100_000)]);
    const { body } = (await replyWith(source)) as { body: Readable };
    expect(source.held.isHeld).toBe(true);
    const reading = body.iterator({ destroyOnReturn: false });
    for (let read = 0; read < pieces; read += 1) expect((await reading.next()).done).toBe(false);
    body.destroy();
    await waitFor('the rows to end', async () => !source.held.isHeld);
  });
});

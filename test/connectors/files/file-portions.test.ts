import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { expect, it } from 'vitest';
import { heartbeating } from '../../../activities/core/heartbeat.ts';
import { filePortions } from '../../../connectors/files/file-portions.ts';
import { testContext } from '../core/contract.ts';

it('items of a chunk come in portions of bounded size, between which others get their turn', async () => {
  // A quote that is closed wrongly after almost 1 MiB: all lines before it are items that come at once.
  const text = Buffer.from(`a\n"${'x\n'.repeat(250_000)}y"z\nlast\n`);
  async function* chunks() {
    yield text;
  }
  const file = {
    from: 0,
    version: null,
    mark: null,
    bytes: text.length,
    chunks: chunks(),
    end: async () => {},
    context: testContext(AbortSignal.timeout(60_000)),
  };
  let turns = 0;
  // A step heartbeats by time, whatever it reads and however little of it goes on.
  const context = {
    info: { heartbeatTimeoutMs: 5 },
    heartbeat: () => {
      turns += 1;
    },
  } as object as Context;
  const sizes: number[] = [];
  let [items, cursor]: [number, unknown] = [0, null];
  await asyncLocalStorage.run(context, () =>
    heartbeating(async () => {
      for await (const portion of filePortions({ format: 'csv' } as never, file, null)) {
        sizes.push(portion.items.length);
        items += portion.items.length;
        cursor = portion.cursorAfter(portion.items.length - 1);
      }
    }),
  );
  expect([items, Math.max(...sizes) <= 1_000, turns > 0]).toEqual([250_002, true, true]);
  expect(cursor).toMatchObject({ isDone: true, offset: text.length, line: 250_004 });
});

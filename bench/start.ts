import type { Line } from './line.ts';
import { atMost } from './report.ts';

const TITLE = 'warm start to ready';

/** `npm start` on a data folder that has been used, until all its parts are ready. */
export const warmStart: Line = {
  key: 'start',
  titles: () => [TITLE],
  async *measure(context) {
    await context.service();
    const { readySeconds } = await context.restartService();
    yield atMost(TITLE, 's', readySeconds, 6);
  },
};

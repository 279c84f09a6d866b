import { enter } from './entry.ts';
import { configuredGrounds } from './grounds.ts';
import { withHouse } from './house.ts';
import { askedToEnd, startService } from './service.ts';

/** `npm run work`: one worker among several. */
await enter(async (config, log) => {
  await withHouse(config, configuredGrounds(config), log, async (house) => {
    const service = await startService(house, { serves: false, works: true });
    log.info({}, 'working');
    await askedToEnd();
    await service.stop();
  });
});

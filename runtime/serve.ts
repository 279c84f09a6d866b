import { enter } from './entry.ts';
import { configuredGrounds } from './grounds.ts';
import { withHouse } from './house.ts';
import { askedToEnd, startService } from './service.ts';

/** `npm run serve`: one HTTP server among several. */
await enter(async (config, log) => {
  await withHouse(config, configuredGrounds(config), log, async (house) => {
    const service = await startService(house, { serves: true, works: false });
    log.info({ url: service.url }, 'serving');
    await askedToEnd();
    await service.stop();
  });
});

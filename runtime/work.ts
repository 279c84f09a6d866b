import { enter } from './entry.ts';
import { configuredGrounds } from './grounds.ts';
import { openHouse } from './house.ts';
import { askedToEnd, startService } from './service.ts';

/** `npm run work`: one worker among several. */
await enter(async (config, log) => {
  await using house = await openHouse(config, configuredGrounds(config), log);
  const service = await startService(house, { serves: false, works: true });
  log.info({}, 'working');
  await askedToEnd();
  await service.stop();
});

import { enter } from './entry.ts';
import { startGrounds } from './grounds.ts';
import { withHouse } from './house.ts';
import { askedToEnd, startService } from './service.ts';

/** `npm start`: the service, with embedded parts for whatever no address is configured for. */
await enter(async (config, log) => {
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const ending = askedToEnd();
  const grounds = await startGrounds(config, say);
  try {
    await withHouse(config, grounds, log, async (house) => {
      const service = await startService(house, { serves: true, works: true });
      say(`millrace: ${service.url}, its API page ${service.url}/docs${grounds.temporalUi ? `, Temporal ${grounds.temporalUi}` : ''}`);
      const lost = await Promise.race([ending, grounds.lost]);
      if (lost) process.exitCode = 1;          // whoever watches over this process starts it again
      say(lost ?? 'millrace: ending; what runs gets 30 s');
      await service.stop();
    });
  } finally {
    await grounds.stop();
  }
});

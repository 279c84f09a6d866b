import { withAppContext } from './app-context.ts';
import { configuredBackends } from './backends.ts';
import { enter } from './entry.ts';
import { askedToEnd, startService } from './service.ts';

/** `npm run serve`: runs one HTTP server among several. */
await enter(async (config, log) => {
  await withAppContext(config, configuredBackends(config), log, async (context) => {
    const service = await startService(context, { serves: true, works: false });
    log.info({ url: service.url }, 'serving');
    await askedToEnd();
    await service.stop();
  });
});

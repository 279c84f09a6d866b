import { withAppContext } from './app-context.ts';
import { configuredBackends } from './backends.ts';
import { enter } from './entry.ts';
import { askedToEnd, startService } from './service.ts';

/** `npm run work`: runs one worker among several. */
await enter(async (config, log) => {
  await withAppContext(config, configuredBackends(config), log, async (context) => {
    const service = await startService(context, { serves: false, works: true });
    log.info({}, 'working');
    await askedToEnd();
    await service.stop();
  });
});

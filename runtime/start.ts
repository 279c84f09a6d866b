import { withAppContext } from './app-context.ts';
import { openBackends } from './backends.ts';
import { enter } from './entry.ts';
import { askedToEnd, startService } from './service.ts';

/** `npm start`: the service, with embedded parts for whatever no address is configured for. */
await enter(async (config, log) => {
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const ending = askedToEnd();
  const backends = await openBackends(config, say);
  try {
    await withAppContext(config, backends, log, async (context) => {
      const service = await startService(context, { serves: true, works: true });
      say(`millrace: ${service.url}, its API page ${service.url}/docs${backends.temporalUi ? `, Temporal ${backends.temporalUi}` : ''}`);
      const lost = await Promise.race([ending, backends.lost]);
      if (lost) process.exitCode = 1;          // whoever watches over this process starts it again
      say(lost ?? 'millrace: ending; what runs gets 30 s');
      await service.stop();
    });
  } finally {
    await backends.stop();
  }
});

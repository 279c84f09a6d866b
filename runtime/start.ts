import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { withAppContext } from './app-context.ts';
import { openBackends } from './backends.ts';
import type { Config } from './config.ts';
import { enter } from './entry.ts';
import { askedToEnd, startService } from './service.ts';

function welcome(config: Config, url: string, temporalUi: string | null): string {
  const passwordPath = join(config.MILLRACE_DATA_DIR, 'admin-password');
  const password =
    config.MILLRACE_ADMIN_PASSWORD || !existsSync(passwordPath) ? '' : `, with the password in ${passwordPath}`;
  const lines = [
    ['Sign in', `as ${config.MILLRACE_ADMIN_EMAIL}${password}`],
    ['Do first', `${url}/manual/first-import.md`],
    ['API page', `${url}/docs`],
    ...(temporalUi === null ? [] : [['Temporal', temporalUi]]),
    ['End it', 'with Ctrl-C'],
  ];
  return ['', `millrace: ${url}`, ...lines.map(([what, where]) => `  ${what!.padEnd(10)}${where!}`), ''].join('\n');
}

/** `npm start`: runs the service, with embedded parts for those without a configured address. */
await enter(async (config, log) => {
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const ending = askedToEnd();
  const backends = await openBackends(config, say);
  try {
    await withAppContext(config, backends, log, async (context) => {
      const service = await startService(context, { serves: true, works: true });
      say(welcome(config, service.url!, backends.temporalUi));
      const lost = await Promise.race([ending, backends.lost]);
      if (lost) process.exitCode = 1; // its supervisor starts it again
      say(lost ?? 'millrace: ending; what runs gets 30 s');
      await service.stop();
    });
  } finally {
    await backends.stop();
  }
});

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { call } from '../cli/client.ts';
import { demoFeed } from './demo-feed.ts';
import { demoImport } from './demo-import.ts';
import { makeDemoSor } from './demo-sor.ts';
import { demoSync } from './demo-sync.ts';
import { enter } from './entry.ts';
import { startGrounds } from './grounds.ts';
import { withHouse } from './house.ts';
import { askedToEnd, startService } from './service.ts';

/** A folder of its own, so that trying Millrace leaves nothing in the service's. */
process.env.MILLRACE_DATA_DIR ??= '.millrace-demo';
process.env.MILLRACE_LOG_LEVEL ??= 'warn';
/** The shop that its sync reads lies in its own database. */
process.env.MILLRACE_FETCH_ALLOW ??= URL.parse(process.env.DATABASE_URL ?? '')?.hostname || '127.0.0.1';

/** `npm run demo`: the whole stack, each kind of flow on sample data, and where to look. Stays up. */
await enter(async (config, log) => {
  const say = (text: string) => console.log(text);
  const ending = askedToEnd();
  const grounds = await startGrounds(config, say);
  try {
    await withHouse(config, grounds, log, async (house) => {
      const service = await startService(house, { serves: true, works: true });
      const url = service.url!;
      const email = config.MILLRACE_ADMIN_EMAIL;
      const passwordPath = join(config.MILLRACE_DATA_DIR, 'admin-password');
      const password = config.MILLRACE_ADMIN_PASSWORD ?? (await readFile(passwordPath, 'utf8')).trim();
      const { auth_token: token } = await call<{ auth_token: string }>({ url }, 'POST', '/api/login', { email, password });
      const server = { url, token };
      const sor = await makeDemoSor(server, say);
      await demoImport(server, sor, say);
      await demoFeed(server, sor, say);
      await demoSync(server, sor, grounds.databaseUrl, say);
      say([
        '', `API page      ${url}/docs`, `Temporal      ${grounds.temporalUi ?? 'its own page'}`, `metrics       ${url}/metrics`,
        `sign in as    ${email}, password in ${passwordPath}`,
        `by command    MILLRACE_URL=${url} MILLRACE_TOKEN=${token} npx millrace --help`, '', 'Up until Ctrl-C.',
      ].join('\n'));
      await ending;
      await service.stop();
    });
  } finally {
    await grounds.stop();
  }
});

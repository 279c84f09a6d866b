import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { call } from '../cli/core/client.ts';
import type { Config } from './config.ts';
import { demoExport } from './demo/demo-export.ts';
import { demoFeed } from './demo/demo-feed.ts';
import { demoGdpr } from './demo/demo-gdpr.ts';
import { demoImport } from './demo/demo-import.ts';
import { type DemoBucket, startDemoS3 } from './demo/demo-s3.ts';
import { makeDemoSor } from './demo/demo-sor.ts';
import { demoSync } from './demo/demo-sync.ts';
import { enter } from './entry.ts';
import { type EmbeddedGrounds, startGrounds } from './grounds.ts';
import { withHouse } from './house.ts';
import { askedToEnd, startService } from './service.ts';

/** A folder of its own, so that trying Millrace leaves nothing in the service's. */
process.env.MILLRACE_DATA_DIR ??= '.millrace-demo';
process.env.MILLRACE_LOG_LEVEL ??= 'warn';
/** The shop that its sync reads lies in its own database, the bucket of its exporter in an S3 of its own. */
process.env.MILLRACE_FETCH_ALLOW ??= [URL.parse(process.env.DATABASE_URL ?? '')?.hostname, '127.0.0.1'].filter(Boolean).join(',');

type Shown = { config: Config; grounds: EmbeddedGrounds; bucket: DemoBucket | null; url: string };

/** `npm run demo`: the whole stack, each kind of flow on sample data, and where to look. Stays up. */
await enter(async (config, log) => {
  let hasEnded = false;
  const say = (text: string) => {
    if (!hasEnded) console.log(text);
  };
  const ending = askedToEnd().then(() => { hasEnded = true; });
  const grounds = await startGrounds(config, say);
  const bucket = await startDemoS3(config.MILLRACE_DATA_DIR, say).catch(async (error) => {
    await grounds.stop();
    throw error;
  });
  try {
    await withHouse(config, grounds, log, async (house) => {
      const service = await startService(house, { serves: true, works: true });
      const shown = show({ config, grounds, bucket, url: service.url! }, say);
      try {
        await Promise.race([shown, ending]);
        await ending;
      } finally {
        await service.stop();
        await shown.catch(() => {});      // asked to end in between, it finds no server any longer
      }
    });
  } finally {
    await bucket?.stop();
    await grounds.stop();
  }
});

async function show({ config, grounds, bucket, url }: Shown, say: (text: string) => void): Promise<void> {
  const email = config.MILLRACE_ADMIN_EMAIL;
  const passwordPath = join(config.MILLRACE_DATA_DIR, 'admin-password');
  const password = config.MILLRACE_ADMIN_PASSWORD ?? (await readFile(passwordPath, 'utf8')).trim();
  const { auth_token: token } = await call<{ auth_token: string }>({ url }, 'POST', '/api/login', { email, password });
  const server = { url, token };
  const sor = await makeDemoSor(server, say);
  await demoImport(server, sor, say);
  await demoFeed(server, sor, say);
  await demoSync(server, sor, grounds.databaseUrl, say);
  if (bucket) await demoExport(server, sor, { bucket, dataDir: config.MILLRACE_DATA_DIR }, say);
  await demoGdpr(server, sor, config.MILLRACE_DATA_DIR, say);
  say([
    '', `API page      ${url}/docs`, `Temporal      ${grounds.temporalUi ?? 'its own page'}`, `metrics       ${url}/metrics`,
    `sign in as    ${email}, password in ${passwordPath}`,
    `by command    MILLRACE_URL=${url} MILLRACE_TOKEN=${token} npx millrace --help`, '', 'Up until Ctrl-C.',
  ].join('\n'));
}

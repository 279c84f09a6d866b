import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient } from '../api/client.ts';
import { withAppContext } from './app-context.ts';
import { type EmbeddedBackends, openBackends } from './backends.ts';
import type { Config } from './config.ts';
import { demoAnalytics } from './demo/demo-analytics.ts';
import { demoCampaign } from './demo/demo-campaign.ts';
import { demoExport } from './demo/demo-export.ts';
import { demoFeed } from './demo/demo-feed.ts';
import { demoGdpr } from './demo/demo-gdpr.ts';
import { demoImport } from './demo/demo-import.ts';
import { type DemoBucket, startDemoS3 } from './demo/demo-s3.ts';
import { demoSends } from './demo/demo-sends.ts';
import { makeDemoSor } from './demo/demo-sor.ts';
import { demoSync } from './demo/demo-sync.ts';
import { demoTracking } from './demo/demo-tracking.ts';
import { enter } from './entry.ts';
import { askedToEnd, startService } from './service.ts';

/** A separate folder, so that the demo leaves nothing in the service's. */
process.env.MILLRACE_DATA_DIR ??= '.millrace-demo';
process.env.MILLRACE_LOG_LEVEL ??= 'warn';
/** Allows the shop's database that the sync reads, and the exporter's S3. */
process.env.MILLRACE_FETCH_ALLOW ??= [URL.parse(process.env.DATABASE_URL ?? '')?.hostname, '127.0.0.1']
  .filter(Boolean)
  .join(',');

type Shown = { config: Config; backends: EmbeddedBackends; bucket: DemoBucket | null; url: string };

/** `npm run demo`: starts the whole stack, shows each kind of flow on sample data, and stays up. */
await enter(async (config, log) => {
  let hasEnded = false;
  const say = (text: string) => {
    if (!hasEnded) console.log(text);
  };
  const ending = askedToEnd().then(() => {
    hasEnded = true;
  });
  const backends = await openBackends(config, say);
  const bucket = await startDemoS3(config.MILLRACE_DATA_DIR, say).catch(async (error) => {
    await backends.stop();
    throw error;
  });
  try {
    await withAppContext(config, backends, log, async (context) => {
      const service = await startService(context, { serves: true, works: true });
      const shown = show({ config, backends, bucket, url: service.url! }, say);
      try {
        await Promise.race([shown, ending]);
        await ending;
      } finally {
        await service.stop();
        await shown.catch(() => {}); // if asked to end meanwhile, it finds no server
      }
    });
  } finally {
    await bucket?.stop();
    await backends.stop();
  }
});

async function show({ config, backends, bucket, url }: Shown, say: (text: string) => void): Promise<void> {
  const email = config.MILLRACE_ADMIN_EMAIL;
  const passwordPath = join(config.MILLRACE_DATA_DIR, 'admin-password');
  const password = config.MILLRACE_ADMIN_PASSWORD ?? (await readFile(passwordPath, 'utf8')).trim();
  const { auth_token: token } = await createClient({ url }).login({ body: { email, password } });
  const server = { url, token, client: createClient({ url, token }) };
  const sor = await makeDemoSor(server.client, say);
  await demoImport(server.client, sor, say);
  await demoFeed(server.client, sor, say);
  await demoSync(server, sor, backends.databaseUrl, say);
  const app = await demoTracking(server, sor, say);
  if (bucket) await demoExport(server, sor, { bucket, dataDir: config.MILLRACE_DATA_DIR, app }, say);
  await demoGdpr(server, sor, config.MILLRACE_DATA_DIR, say);
  const { segment } = await demoAnalytics(server, app, config.MILLRACE_DATA_DIR, say);
  await demoSends(server, app, say);
  await demoCampaign(server, { app, segment }, say);
  say(
    [
      '',
      `API page      ${url}/docs`,
      `Temporal      ${backends.temporalUi ?? 'its own page'}`,
      `metrics       ${url}/metrics`,
      `sign in as    ${email}, password in ${passwordPath}`,
      `by command    MILLRACE_URL=${url} MILLRACE_TOKEN=${token} npx --no-install millrace --help`,
      '',
      'Up until Ctrl-C.',
    ].join('\n'),
  );
}

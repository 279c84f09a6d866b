import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../../api/client.ts';
import { table } from '../../cli/core/table.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { DemoServer } from './demo-server.ts';

type Say = (text: string) => void;

const STEPS = ['Product Viewed', 'Product Added', 'Order Completed'];
const POLL_MS = 100;

/**
 * Shows analytics of the app's data: how many people go from a product to an order, who does not, and a spreadsheet of
 * it.
 */
export async function demoAnalytics(
  { client }: DemoServer,
  app: string,
  dataDir: string,
  say: Say,
): Promise<{ segment: string }> {
  const funnel = await showFunnel(client, app, say);
  const segment = await showSegment(client, app, funnel, say);
  const asked = { params: { app_identifier: app }, query: { skip_email: 'true' } } as const;
  const { callback } = (await client.exportEvents(asked)) as { callback: string };
  const folder = join(dataDir, 'files');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `events-of-${app}.xls`);
  await writeFile(path, await fetchFile(callback), { mode: 0o600 });
  say(`All events of the app, for a spreadsheet: ${path}`);
  return { segment };
}

/** Shows a funnel, and returns its identifier. */
async function showFunnel(client: Client, app: string, say: Say): Promise<string> {
  const steps = STEPS.map((name) => ({ match_name: [{ app_id: app, log_type: 2 as const, log_name: name }] }));
  const { identifier } = await client.createFunnel({ body: { name: 'From a product to an order', steps } });
  const day = (ago: number) => new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10);
  const stats = await client.quickFunnelStats({
    query: { app_id: app, from: day(1), till: day(0) },
    body: { funnel: { steps } },
  });
  say(`\nFunnel ${identifier} ("From a product to an order") over the app's events:\n`);
  say(
    table(
      ['step', 'people', 'after'],
      stats.map(({ step, completions, average_duration: seconds }) => [
        STEPS[step]!,
        String(completions),
        seconds === null ? '' : `${seconds} s`,
      ]),
    ),
  );
  say('');
  return identifier;
}

/** Shows a segment of people who leave a product behind, for campaigns. Returns its identifier. */
async function showSegment(client: Client, app: string, funnel: string, say: Say): Promise<string> {
  const { identifier } = await client.createSegment({
    body: {
      name: 'Did not order',
      app,
      filters: {
        blocks: [
          {
            filters: [
              {
                filter_on: 'funnels',
                funnel_identifier: funnel,
                step: STEPS.length - 1,
                outcome: 'dropped',
                period: { last_days: 2 },
              },
            ],
          },
        ],
      },
    },
  });
  for (;;) {
    const { state, failure, preview } = await client.viewSegment({ params: { identifier } });
    if (state === 'failed') refuse(500, 'failed', `The segment has no people: ${failure}`);
    if (state === 'active') {
      say(`Segment ${identifier} ("Did not order"): ${preview?.people_number} people dropped out at the last step\n`);
      return identifier;
    }
    await delay(POLL_MS);
  }
}

/** Fetches a file by its link, without a login. */
async function fetchFile(link: string): Promise<Uint8Array> {
  for (;;) {
    const reply = await fetch(link);
    if (reply.status === 200) return new Uint8Array(await reply.arrayBuffer());
    if (reply.status !== 202) refuse(reply.status, reply.status, `The file was not built: ${await reply.text()}`);
    await reply.text();
    await delay(POLL_MS);
  }
}

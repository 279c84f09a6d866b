/** The demo's analytics: a funnel that people leave at one step, why, a segment of these people, and a spreadsheet. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '../../api/client.ts';
import { table } from '../../cli/core/table.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import type { DemoServer } from './demo-server.ts';
import { type DemoApp, FUNNEL_STEPS } from './demo-tracking.ts';

type Say = (text: string) => void;

/** Identifiers of what the demo made. */
export type Stopped = { funnel: string; segment: string };

const POLL_MS = 100;
const COUNTED_DAYS = 30;
const LAST_STEP = FUNNEL_STEPS.length - 1;
/** How many kinds of events the demo shows of those that people had instead of the last step. */
const SHOWN_EVENTS = 3;

/** Shows where people stop on their way to an order, what they did instead, and makes a segment of them. */
export async function demoAnalytics({ client }: DemoServer, app: DemoApp, dataDir: string, say: Say): Promise<Stopped> {
  const funnel = await showFunnel(client, app.identifier, say);
  const segment = await makeSegment(client, app.identifier, funnel, say);
  say(`All events of the app, for a spreadsheet: ${await fetchEvents(client, app.identifier, dataDir)}`);
  return { funnel, segment };
}

async function showFunnel(client: Client, app: string, say: Say): Promise<string> {
  const steps = FUNNEL_STEPS.map((name) => ({ match_name: [{ app_id: app, log_type: 2 as const, log_name: name }] }));
  const { identifier } = await client.createFunnel({ body: { name: 'From a product to an order', steps } });
  const day = (ago: number) => new Date(Date.now() - ago * DAY_MS).toISOString().slice(0, 10);
  const asked = { app_id: app, from: day(COUNTED_DAYS - 1), till: day(0) };
  const body = { funnel: { steps } };
  const [stats, byVersion, instead] = await Promise.all([
    client.quickFunnelStats({ query: asked, body }),
    client.quickFunnelStats({ query: { ...asked, breakdown: 'app_version' }, body }),
    client.exploreFunnel({ query: { ...asked, position: String(LAST_STEP - 1), dropped: 'true' }, body }),
  ]);
  say(`\nFunnel ${identifier} ("From a product to an order") over ${COUNTED_DAYS} days:\n`);
  say(
    table(
      ['step', 'people', 'of the first', 'half within'],
      stats.map(({ step, completions, share, since_previous: times }) => [
        FUNNEL_STEPS[step]!,
        String(completions),
        percent(share),
        times ? `${Math.round(times.median)} s` : '',
      ]),
    ),
  );
  const versions = byVersion
    .filter(({ step }) => step === LAST_STEP)
    .map(({ breakdown, share }) => `${breakdown} ${percent(share)}`);
  say(`\nOrders by version: ${versions.toSorted().join(', ')}`);
  const events = instead.slice(0, SHOWN_EVENTS).map(({ log_name: name, completions }) => `${name} ${completions}`);
  say(`After "${FUNNEL_STEPS[LAST_STEP - 1]}", those who stopped: ${events.join(', ')}`);
  return identifier;
}

const percent = (share: number | null) => (share === null ? '' : `${Math.round(share * 100)} %`);

async function makeSegment(client: Client, app: string, funnel: string, say: Say): Promise<string> {
  const filter = {
    filter_on: 'funnels' as const,
    funnel_identifier: funnel,
    step: LAST_STEP,
    outcome: 'dropped' as const,
    period: { last_days: COUNTED_DAYS },
  };
  const { identifier } = await client.createSegment({
    body: { name: 'Stopped at checkout', app, filters: { blocks: [{ filters: [filter] }] } },
  });
  for (;;) {
    const { state, failure, preview } = await client.viewSegment({ params: { identifier } });
    if (state === 'failed') refuse(500, 'failed', `The segment has no people: ${failure}`);
    if (state === 'active') {
      say(`Segment ${identifier} ("Stopped at checkout"): ${preview?.people_number} people, found again every hour`);
      return identifier;
    }
    await delay(POLL_MS);
  }
}

async function fetchEvents(client: Client, app: string, dataDir: string): Promise<string> {
  const asked = { params: { app_identifier: app }, query: { skip_email: 'true' } } as const;
  const { callback } = (await client.exportEvents(asked)) as { callback: string };
  const folder = join(dataDir, 'files');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `events-of-${app}.xls`);
  await writeFile(path, await fetchFile(callback), { mode: 0o600 });
  return path;
}

async function fetchFile(link: string): Promise<Uint8Array> {
  for (;;) {
    const reply = await fetch(link);
    if (reply.status === 200) return new Uint8Array(await reply.arrayBuffer());
    if (reply.status !== 202) refuse(reply.status, reply.status, `The file was not built: ${await reply.text()}`);
    await reply.text();
    await delay(POLL_MS);
  }
}

/** The demo's tracking: makes an app, and sends calls of its devices. */
import type { IngestedCalls } from '../../api/client.ts';
import { table } from '../../cli/core/table.ts';
import { MINUTE_MS } from '../../domain/time/durations.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { cut } from './demo-outcome.ts';
import type { DemoServer, DemoSor } from './demo-server.ts';

type Answer = IngestedCalls & { error_message?: string };

/** Makes an app, sends calls as its SDK would, and returns the app's identifier. */
export async function demoTracking(
  { url, client }: DemoServer,
  sor: DemoSor,
  say: (text: string) => void,
): Promise<string> {
  const { identifier: app } = await client.createApp({
    body: { name: 'Demo app', package_name: `com.example.demo.${sor.identifier}`, app_type: 'iOS App' },
  });
  const { api_key: key } = await client.createApiKey({ params: { app_identifier: app }, body: {} });
  say(`\nApp ${app} ("Demo app"), whose SDK sends to ${url}/v1/batch`);
  const batch = demoCalls(Date.now());
  const { accepted, duplicates, refused } = await sendCalls(url, key, batch);
  say(`Batch: ${batch.length} calls = ${accepted} accepted + ${duplicates} duplicates + ${refused.length} refused\n`);
  say(
    table(
      ['call', 'code', 'reason'],
      refused.map(({ index, code, message }) => [String(index), code, cut(message, 90)]),
    ),
  );
  return app;
}

/** Sends a batch as an SDK does: the key is the user of Basic authentication. */
export async function sendCalls(url: string, key: string, batch: object[]): Promise<Answer> {
  const reply = await fetch(new URL('/v1/batch', url), {
    method: 'POST',
    body: JSON.stringify({ batch }),
    headers: {
      authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
      'content-type': 'application/json',
    },
  });
  const answer = (await reply.json()) as Answer;
  return reply.ok ? answer : refuse(reply.status, reply.status, `The batch was not taken: ${answer.error_message}`);
}

const DEVICES = 20;
const VISITS = 2;
/** Time from the first visit's beginning to now. */
const SINCE_MS = 180 * MINUTE_MS;
/** Longer than the timeout of a session. */
const BETWEEN_VISITS_MS = 60 * MINUTE_MS;
/** Every third device orders nothing. */
const UNDECIDED = 3;
/** Every fifth device takes no pushes. */
const WITHOUT_PUSHES = 5;
/** Every seventh device crashes in the last visit. */
const CRASHES_ON = 7;

const PLACES = [
  { city: 'Paris', country: 'FR', latitude: 48.86, longitude: 2.35 },
  { city: 'Brussels', country: 'BE', latitude: 50.85, longitude: 4.35 },
];

/** An hour apart, so that a campaign by device clocks has two waves. */
const ZONES = ['Europe/London', 'Europe/Paris'];

const STEPS: { type: string; name?: string; event?: string; properties?: object }[] = [
  { type: 'screen', name: 'Home' },
  ...['lamp', 'chair', 'table'].map((product) => ({ type: 'track', event: 'Product Viewed', properties: { product } })),
  { type: 'track', event: 'Product Added', properties: { product: 'table', price: 249.5 } },
  { type: 'screen', name: 'Checkout' },
  { type: 'track', event: 'Order Completed', properties: { total: 249.5, currency: 'EUR' } },
  { type: 'track', event: 'Application Backgrounded' },
];
const CRASH = {
  type: 'track',
  event: 'Application Crashed',
  properties: {
    exception_type: 'NullPointerException',
    message: 'no card to pay with',
    stack: ['Checkout.pay', 'Checkout.onTap'],
  },
};

function demoCalls(now: number): object[] {
  const sound = Array.from({ length: DEVICES }, (_, nth) => nth + 1)
    .flatMap((device) => Array.from({ length: VISITS }, (_, visit) => visitOf(device, visit, now)))
    .flat();
  return [...sound, ...badCalls(now), sound[0]!];
}

function visitOf(device: number, visit: number, now: number): object[] {
  const begins = now - SINCE_MS + visit * BETWEEN_VISITS_MS + device * 1_000;
  return STEPS.map((step, nth) => ({
    ...stepOf(step, device, visit),
    messageId: `demo-${device}-${visit}-${nth}`,
    userId: `shopper-${device}@example.com`,
    timestamp: new Date(begins + nth * MINUTE_MS).toISOString(),
    context: contextOf(device),
  }));
}

function stepOf(step: object & { name?: string; event?: string }, device: number, visit: number): object {
  if (step.name === 'Checkout' && device === CRASHES_ON && visit === VISITS - 1) return CRASH;
  return step.event === 'Order Completed' && device % UNDECIDED === 0 ? { ...step, event: 'Product Removed' } : step;
}

function contextOf(device: number): object {
  return {
    app: { version: '2.1.0' },
    os: { name: 'iOS', version: '18.1' },
    library: { name: 'analytics-swift', version: '1.6.2' },
    device: {
      id: `demo-device-${device}`,
      model: 'iPhone17,1',
      token: `demo-token-${device}`,
      pushEnabled: device % WITHOUT_PUSHES !== 0,
    },
    network: { carrier: 'Demo Mobile' },
    locale: 'fr-FR',
    timezone: ZONES[device % ZONES.length],
    location: PLACES[device % PLACES.length],
  };
}

function badCalls(now: number): object[] {
  const userId = 'shopper-1@example.com';
  const event = 'Product Viewed';
  return [
    { type: 'track', userId },
    { type: 'track', event },
    { type: 'track', event, userId, timestamp: Math.floor(now / 1_000) },
    { type: 'track', event, userId, timestamp: '1999-12-31T23:59:59Z' },
  ];
}

/** The demo's tracking: an app, the calls of its devices over two weeks, and a build that makes mistakes. */
import type { IngestedCalls } from '../../api/client.ts';
import { table } from '../../cli/core/table.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../domain/time/durations.ts';
import { cut } from './demo-outcome.ts';
import type { DemoServer, DemoSor } from './demo-server.ts';

type Answer = IngestedCalls & { error_message?: string };

/** The demo's app, and the key of its SDK. */
export type DemoApp = { identifier: string; key: string };

/** Longer than the time between two steps of a visit. */
const SESSION_SECONDS = 1_800;

/** Makes an app, and sends calls as its SDK would. */
export async function demoTracking(
  { url, client }: DemoServer,
  sor: DemoSor,
  say: (text: string) => void,
): Promise<DemoApp> {
  const { identifier } = await client.createApp({
    body: {
      name: 'Demo app',
      package_name: `com.example.demo.${sor.identifier}`,
      app_type: 'iOS App',
      session_timeout: SESSION_SECONDS,
    },
  });
  const { api_key: key } = await client.createApiKey({ params: { app_identifier: identifier }, body: {} });
  const calls = visits(Date.now());
  let accepted = 0;
  for (let from = 0; from < calls.length; from += BATCH_CALLS)
    accepted += (await sendCalls(url, key, calls.slice(from, from + BATCH_CALLS))).accepted;
  say(
    `\nApp ${identifier} ("Demo app"), whose SDK sends to ${url}/v1/batch: ${calls.length} calls of ${PEOPLE} people, ` +
      `${accepted} accepted`,
  );
  return { identifier, key };
}

/** Sends a few more calls, as a build that is wrong in four ways: the last ones that the app's page shows. */
export async function demoMistakes({ url }: DemoServer, app: DemoApp, say: (text: string) => void): Promise<void> {
  const batch = callsWithMistakes(Date.now());
  const { accepted, duplicates, refused } = await sendCalls(url, app.key, batch);
  say(
    `\nA wrong build sends ${batch.length} calls = ${accepted} accepted + ${duplicates} duplicates + ${refused.length} refused\n`,
  );
  say(
    table(
      ['call', 'code', 'reason'],
      refused.map(({ index, code, message }) => [String(index), code, cut(message, 90)]),
    ),
  );
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

const PEOPLE = 300;
const DAYS = 14;
/** A body has at most 500 KiB: docs/tracking.md. */
const BATCH_CALLS = 600;

export const shopper = (person: number) => `shopper-${person}@example.com`;
export const deviceOf = (person: number) => `demo-device-${person}`;

/** Steps of a visit, in order; the funnel counts all but the first. */
export const FUNNEL_STEPS = ['Product Viewed', 'Product Added', 'Checkout Started', 'Order Completed'];
const PRODUCTS = ['lamp', 'chair', 'table'];

const OLD_VERSION = '2.3.1';
/** Crashes at its checkout: the reason why so few people of the funnel finish. */
const NEW_VERSION = '2.4.0';
const NEW_SINCE_DAYS = 5;
const isNew = (person: number) => Math.floor(person / 10) % 2 === 1;

/** Returns how many steps of the funnel a person takes: of ten, three stop at each product, two with a full cart. */
function stepsOf(person: number): number {
  const [lastDigit, lastThatOrders] = [person % 10, isNew(person) ? 0 : 3];
  if (lastDigit >= 7) return 1;
  if (lastDigit >= 5) return 2;
  return lastDigit > lastThatOrders ? 3 : 4;
}

/** People whose device takes no pushes, has no push token, or one that the sandbox answers in its own way. */
const WITHOUT_PUSHES = [11, 23, 31, 51, 71];
const WITHOUT_TOKEN = [91, 111];
const TOKENS: Readonly<Record<number, string>> = {
  131: 'sandbox-gone',
  151: 'sandbox-unknown-1',
  171: 'sandbox-unknown-2',
  191: 'sandbox-refused-1',
  211: 'sandbox-refused-2',
};

const PLACES = [
  { city: 'Paris', country: 'FR', latitude: 48.86, longitude: 2.35 },
  { city: 'Brussels', country: 'BE', latitude: 50.85, longitude: 4.35 },
];
const MODELS = ['iPhone17,1', 'iPhone16,2', 'iPhone15,4'];

function visits(now: number): object[] {
  return Array.from({ length: PEOPLE }, (_, nth) => nth + 1).flatMap((person) => [
    ...(person % 4 === 0 ? visitOf(person, 1, earlier(person, now)) : []),
    ...visitOf(person, stepsOf(person), visitAt(person, now)),
  ]);
}

/** Returns when a person's last visit begins. Visits of the new version began with its release. */
function visitAt(person: number, now: number): number {
  const daysAgo = (person * 3) % (isNew(person) ? NEW_SINCE_DAYS : DAYS);
  return now - daysAgo * DAY_MS - HOUR_MS - ((person * 37) % 600) * MINUTE_MS;
}

const earlier = (person: number, now: number) => visitAt(person, now) - (2 + (person % 5)) * DAY_MS;

type DemoCall = { type: string; name?: string; event?: string; properties?: object };

/** Returns the calls of a visit that takes the first `steps` of the funnel. */
function visitOf(person: number, steps: number, begins: number): object[] {
  const product = PRODUCTS[person % PRODUCTS.length];
  const calls: DemoCall[] = [{ type: 'screen', name: 'Home' }];
  for (const event of FUNNEL_STEPS.slice(0, steps)) calls.push({ type: 'track', event, properties: { product } });
  if (steps === 4) calls[4]!.properties = { product, total: 249.5, currency: 'EUR' };
  if (steps === 3 && isNew(person)) calls.push(CRASH);
  else {
    if (steps === 3) calls.push({ type: 'track', event: 'Product Removed' });
    calls.push({ type: 'track', event: 'Application Backgrounded' });
  }
  let at = begins;
  return calls.map((call, nth) => {
    at += secondsBefore(nth, person) * 1_000;
    return {
      ...call,
      messageId: `demo-${person}-${begins}-${nth}`,
      userId: shopper(person),
      timestamp: new Date(at).toISOString(),
      context: { ...contextOf(person), ...(nth === 0 && { location: PLACES[person % PLACES.length] }) },
    };
  });
}

/** Returns the time since the call before: a quarter of a minute to some minutes, longer at each step. */
const secondsBefore = (nth: number, person: number) => (nth === 0 ? 0 : 5 + nth * (2 + ((person * 13) % 47)));

const CRASH: DemoCall = {
  type: 'track',
  event: 'Application Crashed',
  properties: {
    exception_type: 'NullPointerException',
    message: 'no card to pay with',
    stack: ['Checkout.pay', 'Checkout.onTap'],
  },
};

function contextOf(person: number): object {
  return {
    app: { version: isNew(person) ? NEW_VERSION : OLD_VERSION },
    os: { name: 'iOS', version: person % 3 === 0 ? '18.1' : '26.1' },
    library: { name: 'analytics-swift', version: '1.6.2' },
    device: {
      id: deviceOf(person),
      model: MODELS[person % MODELS.length],
      ...(!WITHOUT_TOKEN.includes(person) && { token: TOKENS[person] ?? `demo-token-${person}` }),
      pushEnabled: !WITHOUT_PUSHES.includes(person),
    },
    network: { carrier: 'Demo Mobile' },
    locale: 'fr-FR',
    // An hour apart, so that a campaign by the devices' clocks has two waves.
    timezone: person % 10 === 4 ? 'Europe/London' : 'Europe/Paris',
  };
}

function callsWithMistakes(now: number): object[] {
  const [userId, event] = [shopper(1), 'Product Viewed'];
  const context = contextOf(1);
  const sound = PRODUCTS.map((product, nth) => ({
    type: 'track',
    event,
    userId,
    messageId: `demo-build-${now}-${nth}`,
    properties: { product },
    context,
  }));
  return [
    ...sound,
    { type: 'track', userId, context },
    { type: 'track', event },
    { type: 'track', event, userId, timestamp: Math.floor(now / 1_000), context },
    { type: 'track', event, userId, timestamp: '1999-12-31T23:59:59Z', context },
    sound[0]!,
  ];
}

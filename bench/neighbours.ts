import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { type Database, openDatabase } from '../store/core/database.ts';
import { askFunnel, FROM, insertSteps, STEPS } from './funnel.ts';
import { writeImportFile } from './import-file.ts';
import type { BenchContext, Line, Size } from './line.ts';
import { atMost, atMostTimes } from './report.ts';
import { addReachableApp, launchParcels, makeReachableApp, sendParcels } from './sends.ts';
import { ADMIN, type BenchSor, call, type Caller, createSor, importFile, untilNextLook } from './service.ts';
import { timed } from './timed.ts';
import { addTrackedApp, deleteTracked } from './tracked-app.ts';

/** Amount of each of an entity's works, and how often its neighbour calls. */
type Scene = {
  messages: number;
  rows: number;
  events: number;
  erased: number;
  eventsOfNeighbour: number;
  calls: number;
};
const SCENES: Record<Size, Scene> = {
  quick: { messages: 5_000, rows: 100_000, events: 100_000, erased: 100, eventsOfNeighbour: 10_000, calls: 40 },
  full: { messages: 50_000, rows: 1_000_000, events: 1_000_000, erased: 1_000, eventsOfNeighbour: 100_000, calls: 200 },
};
const FUNNELS = 20;
/** Maximum slowdown against the idle service. */
const MAX_TIMES = 5;

const CALLS = [
  { name: 'a transactional message, request to sent', maxSeconds: 1 },
  { name: 'a list of events', maxSeconds: 0.3 },
  { name: 'a funnel', maxSeconds: 3 },
] as const;

const titleOf = (name: string) => `beside a busy neighbour, ${name}, p95`;

type Ask = () => Promise<unknown>;
type Work = (round: number) => Promise<unknown>;

/**
 * Measures what an entity waits for while another one sends, counts, imports and erases, against the same on the idle
 * service.
 */
export const neighbours: Line = {
  key: 'neighbours',
  titles: () => CALLS.flatMap(({ name }) => [titleOf(name), `${titleOf(name)}, in seconds`]),
  async *measure(context) {
    const db = openDatabase({ url: await context.databaseUrl(), max: 1, name: 'bench' });
    const client = new pg.Client({ connectionString: await context.databaseUrl() });
    await client.connect();
    const scene = SCENES[context.size];
    const works = await busyWorks(context, { db, client }, scene);
    const asks = await neighbourAsks(context, { db, client }, scene);
    await inTurns(asks, Math.ceil(scene.calls / 10)); // both sides run warm
    const idle = await inTurns(asks, scene.calls);
    const busy = await during(works, () => inTurns(asks, scene.calls));
    for (const [nth, { name, maxSeconds }] of CALLS.entries()) {
      yield atMostTimes(titleOf(name), p95(busy[nth]!), p95(idle[nth]!), MAX_TIMES);
      yield atMost(`${titleOf(name)}, in seconds`, 's', p95(busy[nth]!), maxSeconds);
    }
    await deleteTracked(client);
    await db.end();
    await client.end();
  },
};

type Connections = { db: Database; client: pg.Client };

/** Prepares the works that the busy entity repeats. */
async function busyWorks(context: BenchContext, { db, client }: Connections, scene: Scene): Promise<Work[]> {
  const service = await context.service();
  const campaign = await launchParcels(service, await makeReachableApp(service, db, scene.messages));
  const app = await addTrackedApp(client, context, service, { from: FROM, eventNames: STEPS });
  await insertSteps(client, app, scene.events);
  const sor = await createSor(service);
  const files = await Promise.all([0, 1].map((salt) => writeFile(context, scene.rows, salt)));
  return [
    () => sendParcels(service, campaign, scene.messages),
    () => Promise.all(Array.from({ length: FUNNELS }, () => askFunnel(service, app.identifier))),
    (round) => runImport(service, sor, files[round % files.length]!),
    (round) => erase(service, scene.erased, round),
  ];
}

async function writeFile({ folder }: BenchContext, rows: number, salt: number): Promise<string> {
  const path = join(folder, `neighbours-${salt}.csv`);
  await writeImportFile({ path, rows, order: 'shuffled', bad: 'kept', salt });
  return path;
}

async function runImport(service: Caller, sor: BenchSor, path: string): Promise<void> {
  const { status } = await importFile(service, sor, path);
  if (status.state !== 'finished') throw new Error(`the import went wrong: ${JSON.stringify(status)}`);
}

/** Customers of the import: others in each round. */
async function erase({ url, token }: Caller, people: number, round: number): Promise<void> {
  const users = Array.from(
    { length: people },
    (_, index) => `customer-${String(round * people + index).padStart(7, '0')}`,
  );
  const { callback_url: callback } = await call<{ callback_url: string }>(
    url,
    token,
    'POST',
    '/api/gdpr/delete_user_data',
    { users, skip_email: true },
  );
  const { pathname, search } = new URL(callback);
  for (const began = performance.now(); ; await delay(untilNextLook(began))) {
    const { state } = await call<{ state: string }>(url, token, 'GET', pathname + search);
    if (state === 'treated') return;
  }
}

/** Prepares the neighbour's calls, in the order of `CALLS`. */
async function neighbourAsks(context: BenchContext, { db, client }: Connections, scene: Scene): Promise<Ask[]> {
  const caller = await logIntoOtherEntity(await context.service());
  const { url, token } = caller;
  const campaign = await launchParcels(caller, await addReachableApp(caller, db, 1));
  const { identifier: app, ...tracked } = await addTrackedApp(client, context, caller, {
    from: FROM,
    eventNames: STEPS,
  });
  await insertSteps(client, { identifier: app, ...tracked }, scene.eventsOfNeighbour);
  return [
    () => sendParcels(caller, campaign, 1),
    () => call(url, token, 'GET', `/api/apps/${app}/events?per_page=100`),
    () => askFunnel(caller, app),
  ];
}

async function logIntoOtherEntity({ url, token }: Caller): Promise<Caller> {
  const { identifier: entity } = await call<{ identifier: string }>(url, token, 'POST', '/api/entities', {
    name: 'Neighbour',
  });
  const { auth_token: own } = await call<{ auth_token: string }>(url, null, 'POST', '/api/login', { ...ADMIN, entity });
  return { url, token: own };
}

/** Returns the seconds of each call of each kind, in sequence. */
async function inTurns(asks: readonly Ask[], calls: number): Promise<number[][]> {
  const seconds: number[][] = asks.map(() => []);
  for (let turn = 0; turn < calls; turn += 1) {
    for (const [nth, ask] of asks.entries()) seconds[nth]!.push((await timed(ask))[0]);
  }
  return seconds;
}

/** Runs `measured` while all works run and repeat. */
async function during<T>(works: readonly Work[], measured: () => Promise<T>): Promise<T> {
  let isOver = false;
  const running = works.map(async (run) => {
    for (let round = 0; !isOver; round += 1) await run(round);
  });
  const failed = Promise.all(running).then(() => new Promise<never>(() => {}));
  const result = await Promise.race([measured(), failed]);
  isOver = true;
  await Promise.all(running);
  return result;
}

function p95(seconds: readonly number[]): number {
  return seconds.toSorted((a, b) => a - b)[Math.ceil(seconds.length * 0.95) - 1]!;
}

import { glob, readFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { inSlot } from '../../../activities/core/in-slot.ts';
import { ownerOf } from '../../../activities/core/mail-once.ts';
import { BOUNDS, type Limit, openPlaces, PLACES } from '../../../domain/core/limits.ts';
import { type Bounds, TooManyWait } from '../../../domain/core/semaphore.ts';
import { QUEUE_OF, STEPS_OF_QUEUE } from '../../../domain/jobs/queues.ts';
import { openCpuShare } from '../../../runtime/app-context.ts';

const FOLDERS = ['domain', 'store', 'connectors', 'temporal', 'activities', 'server', 'runtime'];

const expectTooMany = (error: unknown) => expect(error).toBeInstanceOf(TooManyWait);

it.each(Object.keys(PLACES) as Limit[])(
  '%s: an entity that comes later gets the next free places, up to its share',
  async (limit) => {
    const take = openPlaces(limit);
    const places = PLACES[limit];
    const alone = (BOUNDS as Partial<Record<Limit, { maxEach?: number }>>)[limit]?.maxEach ?? places;
    const ends = await Promise.all(Array.from({ length: alone }, () => take(1)));
    const held = new Map([
      [1, alone],
      [2, 0],
    ]);
    const come = (entityId: number) =>
      void take(entityId).then(() => held.set(entityId, held.get(entityId)! + 1), expectTooMany);
    for (let n = 0; n < places; n += 1) come(1);
    for (let n = 0; n < places; n += 1) come(2);
    for (const end of ends) {
      held.set(1, held.get(1)! - 1);
      end();
      await new Promise(setImmediate);
    }
    expect(held.get(1)).toBeLessThanOrEqual(Math.ceil(places / 2));
    expect(held.get(2)).toBe(Math.min(alone, Math.ceil(places / 2), places - held.get(1)!));
  },
);

it('all limits stand in one list: no other module opens a semaphore', async () => {
  const opened: string[] = [];
  for await (const path of glob(FOLDERS.map((folder) => `${folder}/**/*.ts`))) {
    if (/[^.\w]semaphore\(/.test(await readFile(path, 'utf8'))) opened.push(path);
  }
  expect(opened.toSorted()).toEqual(['domain/core/limits.ts', 'domain/core/semaphore.ts']);
});

const APPS_OWN = 'an app has push connections of its own, and its sends alone wait for them';
const OWN_WORK = 'belongs to one piece of work, which has a place';

/**
 * Limits of what runs or waits at once that are no places, and why no entity waits there for another. A new one fails
 * the check below: give it places in `PLACES`, or say here why it needs none.
 */
const WITHOUT_PLACES: Record<string, string> = {
  'activities/sends/attempts-under-way.ts #sending = 0': APPS_OWN,
  'activities/sends/send-loop.ts length: SIDE_BY_SIDE }': OWN_WORK,
  'connectors/core/access-token.ts #underWay: Promise': 'one request for the token of one connection or app',
  'connectors/core/guarded-request.ts connections: MAX_CONNECTIONS': 'of one step, which has a place',
  'connectors/push/contract.ts connections: 4': APPS_OWN,
  'connectors/web-push/web-push.ts connections: CONNECTIONS': APPS_OWN,
  'connectors/web-push/web-push.ts pipelining: 1': APPS_OWN,
  'connectors/push/http2-client.ts #waiting: Waiting': APPS_OWN,
  'connectors/push/http2-session.ts #underWay = new': APPS_OWN,
  'runtime/app-context.ts max: 21': 'exports, audiences and heavy reads take 12; requests get 503 after 5 s',
  'runtime/demo/demo-server.ts max: 1': 'the demo alone runs on it',
  'runtime/embedded/postgres.ts max: 1': 'open while the service starts',
  'runtime/keys.ts max: 4': 'a command of the operator',
  'runtime/workers.ts maxConcurrentActivityTaskExecutions: STEPS_OF_QUEUE':
    'each queue has more slots than places, by the test below',
  'server/dependencies.ts connections: 10_000': 'an address has a quarter of them (`limitConnections`)',
  'server/exports/export-reconciliation.ts length: AT_ONCE }': OWN_WORK,
  'server/imports/kept-file-quota.ts #underWay = new': 'counted for each System of Records and entity',
  'server/syncs/connector-calls.ts #underWay = new': 'lists the calls that have places',
};

/**
 * The limit whose places each long step takes; a text says why it takes none. A step that is not here fails the check
 * below.
 */
const LIMIT_OF_STEP: Record<string, Limit | { none: string }> = {
  countAttempts: 'reports',
  dropAttempts: 'reports',
  deliverOutcomes: 'deliveries',
  tellExporters: 'deliveries',
  writeFile: 'exports',
  exportFiles: 'exports',
  drainFeed: 'feeds',
  fetchFile: 'imports',
  loadRows: 'imports',
  syncRecords: 'syncs',
  prepareAudience: 'audiences',
  refreshSegment: 'audiences',
  sendToAudience: 'sends',
  sendMessages: 'sends', // or smallSends
  mailFile: 'mails',
  mailExportAlert: 'mails',
  mailAboutAccess: 'mails',
  mailAboutDeletion: 'mails',
  mailReport: 'mails',
  mailSyncAlert: 'mails',
  writeArchives: 'gdpr',
  eraseLocation: 'gdpr',
  erasePass: 'gdpr',
  listSurvivors: 'gdpr',
  ...Object.fromEntries(
    [
      'gatherToShow',
      'collectIdentifiers',
      'raiseTombstones',
      'beginErasing',
      'listLocations',
      'listForExporters',
      'writeReceipt',
      'writeAccessReceipt',
      'discardAccess',
      'discardDeletion',
    ].map((step) => [step, { none: 'looks up or writes down the people of one request, by their keys' }]),
  ),
};

it('a long step takes places, or says why it needs none', async () => {
  const steps: string[] = [];
  for await (const path of glob('workflows/*.ts')) {
    const text = await readFile(path, 'utf8');
    const proxies = text.matchAll(/const \{([^}]+)\} = proxyActivities<[^>]+>\((\w+_STEPS|\{[^}]*\})/g);
    for (const [, names, options] of proxies) {
      if (options !== 'SHORT_STEPS')
        steps.push(
          ...names!
            .split(',')
            .map((name) => name.split(':')[0]!.trim())
            .filter((name) => name !== ''),
        );
    }
  }
  expect(steps.toSorted()).toEqual(Object.keys(LIMIT_OF_STEP).toSorted());
});

it('mails leave by places alone', async () => {
  const senders: string[] = [];
  for await (const path of glob(FOLDERS.map((folder) => `${folder}/**/*.ts`))) {
    if (/\bmailer\.send\(/.test(await readFile(path, 'utf8'))) senders.push(path);
  }
  expect(senders.toSorted()).toEqual(['activities/accounts/account-mails.ts', 'activities/core/mail-once.ts']);
});

it('budgets without a line are shared, too', async () => {
  const budgets: string[] = [];
  for await (const path of glob(FOLDERS.map((folder) => `${folder}/**/*.ts`))) {
    if (/\bnew SharedBudget\(/.test(await readFile(path, 'utf8'))) budgets.push(path);
  }
  expect(budgets.toSorted()).toEqual(['server/app.ts', 'server/tracking/live-calls.ts']);
});

/**
 * How code limits what runs at once: options of a pool, a line of callers, a count of what runs, several workers over
 * one list.
 */
const LIMITING = new RegExp(
  [
    String.raw`\b(?:connections|maxConnections|maxConcurrent\w*|max\w*Sockets): (?:\d[\d_]*|[A-Z][A-Z_]+)\b`,
    String.raw`\b(?:queueSize|pipelining|concurrency|poolSize): (?:\d[\d_]*|[A-Z][A-Z_]+)\b`,
    String.raw`(?<=\bopenDatabase\(\{[^}]*)\bmax: \d+`,
    String.raw`(?<=readonly |^ +)#(?:waiting|queue|running|active|inFlight|underWay|sending|free|slots)(?: = (?:new|\w+)|: \w+)`,
    String.raw`length: [A-Z][A-Z_]+ \}(?=, (?:async|open))`,
    String.raw`\b(?:pLimit|pQueue|new (?:PQueue|Bottleneck|Sema|Semaphore|Mutex))\b`,
  ].join('|'),
  'gm',
);

it('a limit that is no place says why it needs none', async () => {
  const found: string[] = [];
  for await (const path of glob(FOLDERS.map((folder) => `${folder}/**/*.ts`))) {
    if (path === 'domain/core/semaphore.ts') continue;
    for (const [limit] of (await readFile(path, 'utf8')).matchAll(LIMITING)) found.push(`${path} ${limit}`);
  }
  expect(found.toSorted()).toEqual(Object.keys(WITHOUT_PLACES).toSorted());
});

it.each([...new Set(Object.values(QUEUE_OF))])(
  '%s: steps that have places or wait for them leave slots to others',
  (queue) => {
    const limits = (Object.keys(QUEUE_OF) as (keyof typeof QUEUE_OF)[]).filter((limit) => QUEUE_OF[limit] === queue);
    const held = limits.map((limit) => PLACES[limit] + (BOUNDS[limit] as Bounds).maxWaiting!);
    expect(held.reduce((sum, places) => sum + places, 0)).toBeLessThanOrEqual(STEPS_OF_QUEUE[queue] * 0.9);
  },
);

it('a step that finds many of its entity waiting comes back later, and leaves its slot of the queue to others', async () => {
  const take = openPlaces('mails');
  const within = <T>(entityId: number, work: () => Promise<T>) => inSlot(take, entityId, work);
  const { promise: answer, resolve: answers } = Promise.withResolvers<string>();
  const slow = Array.from({ length: PLACES.mails + BOUNDS.mails.maxWaitingEach }, () => within(1, () => answer));
  await new Promise(setImmediate);
  await expect(within(1, () => answer)).rejects.toBeInstanceOf(TooManyWait);
  const other = within(2, async () => 'sent');
  answers('sent');
  expect(await Promise.all([other, ...slow])).toEqual(Array.from({ length: slow.length + 1 }, () => 'sent'));
});

it('a request for a few messages does not wait for the cores that its own entity uses, nor for a large send', async () => {
  const share = openCpuShare();
  share.noteCall(2);
  const [takeSend, takeSmall] = [openPlaces('sends', share), openPlaces('smallSends', share)];
  const ends = await Promise.all([takeSend(1), ...Array.from({ length: 4 }, () => takeSmall(1))]);
  expect(ends).toHaveLength(5);
  for (const end of ends) end();
});

it('resets of passwords leave places in line to the mails of entities, however many they are', async () => {
  const take = openPlaces('mails');
  const { promise: answer, resolve: answers } = Promise.withResolvers<string>();
  const tooMany = (error: unknown) => expectTooMany(error);
  const resets = Array.from({ length: 60 }, (_, id) =>
    inSlot(take, ownerOf({ table: 'password_resets', id, tokenHash: Buffer.alloc(0) }), () => answer).catch(tooMany),
  );
  await new Promise(setImmediate);
  const mails = Array.from({ length: 8 }, () => inSlot(take, 1, () => answer));
  await new Promise(setImmediate);
  answers('sent');
  expect(await Promise.all(mails)).toEqual(Array.from({ length: mails.length }, () => 'sent'));
  await Promise.all(resets);
});

import assert from 'node:assert/strict';
import { DAY_MS } from '../../../domain/time/durations.ts';
import { findRun } from '../../../store/syncs/sync-runs.ts';
import { personId } from '../../harness/core/people.ts';
import type { Stack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';
import { type SalesforceServer, salesforceServer } from '../../harness/syncs/salesforce-server.ts';
import { ask, askForRun, makeSync, runErrors } from '../../harness/syncs/syncs.ts';

const CONTACTS = 5_500;
/** Contacts that the second run reads again: those of the ten minutes before the newest one. */
const LOOKED_BACK = 301;
const CHANGED = 200;
const DELETED = 60;
const MERGED = 20;
const NEW = 100;
/** The second run reads both contacts of a merge. */
const READ_AGAIN = LOOKED_BACK + CHANGED + DELETED + 2 * MERGED + NEW;

const SOURCES = ['Web', 'Other'];
const LIMITS = { perDay: 1_000_000 };

type Run = {
  world: World;
  sync: string;
  from: SalesforceServer;
  to: SalesforceServer;
  ids: string[];
  first: string;
  second: Promise<string> | null;
};

/**
 * Contacts of one org are written into another by an external id: all by a Bulk job, and then what has changed and what
 * is gone. Some are no good, some are there already.
 */
export const salesforceSyncUnderKill: FlowUnderKill<Run> = {
  name: `a sync of ${CONTACTS.toLocaleString('en')} contacts from Salesforce to Salesforce, by Bulk and by changes`,
  boundaries: [
    // Batches: the cursors before the Bulk job is made and with its id, two with its rows, and what follows its end.
    { name: 'sync: before a batch is written down', hit: 1 },
    { name: 'sync: before a batch is written down', hit: 2 },
    { name: 'sync: batch sent', hit: 3 },
    { name: 'sync: before a batch commits', hit: 4 },
    { name: 'sync: before a batch is written down', hit: 5 },
    { name: 'sync: removal noted', hit: 1 },
    { name: 'sync: removal sent', hit: 1 },
    { name: 'sync: before a removal commits', hit: 1 },
  ],
  async begin(stack) {
    const world = await makeWorld(stack.store);
    const [from, to] = [await org({ bulkPageRows: 2_000 }), await org()];
    to.field('Contact', { name: 'LeadSource', type: 'picklist', picklist: SOURCES, restricted: true });
    const yesterday = Date.now() - DAY_MS;
    const ids = Array.from({ length: CONTACTS }, (_, n) =>
      from.put('Contact', contact(n), { at: yesterday + 2_000 * n }),
    );
    to.putMany(
      'Contact',
      Array.from({ length: 500 }, (_, n) => ({ ...contact(n * 3), FirstName: 'Before', LeadSource: 'Other' })),
    );
    const sync = await makeSync(stack, world, {
      source: { connection: await connect(stack, world, 'From', from), stream: 'Contact' },
      destination: { connection: await connect(stack, world, 'To', to), stream: 'Contact', key: ['Number__c'] },
      mode: 'incremental',
      removes: true,
      mapping: {
        customer: { field: 'Email' },
        fields: ['Email', 'FirstName', 'LastName', 'LeadSource', 'Number__c'].map((field) => ({ from: field })),
      },
    });
    return { world, sync, from, to, ids, first: await askForRun(stack, world, sync), second: null };
  },
  async progress(stack, run) {
    const runs = await runsOf(stack, run);
    return runs.reduce((sum, { progress }) => sum + progress.read, 0);
  },
  size: CONTACTS + READ_AGAIN,
  async hasEnded(stack, run) {
    const [, second] = await runsOf(stack, run);
    return second !== undefined && second.endedAt !== null;
  },
  async outcome(stack, run) {
    const { from, to } = run;
    assert.deepEqual([...from.jobs.keys()], [], 'a Bulk job was left behind');
    const made = from.calls.filter(({ method, path }) => method === 'POST' && path.endsWith('/jobs/query'));
    assert.equal(made.length, 1, 'a Bulk job was not found again');
    const runs = await runsOf(stack, run);
    assert.deepEqual(
      runs.map(({ removed, progress }) => [progress.read, removed]),
      [
        [CONTACTS, 0],
        [READ_AGAIN, DELETED + MERGED],
      ],
    );
    const ended = runs.map(async (each) => ({
      state: each.state,
      counts: { ...each.progress, position: null, batchesTaken: null },
      removed: each.removed,
      removal: each.removal,
      errors: (await runErrors(stack.store, run.world, each)).map(({ happenedAt: _, raw, ...error }) => ({
        ...error,
        raw: raw?.replace(/"SystemModstamp":"[^"]*"/, ''),
      })),
    }));
    const written = [...to.records('Contact').values()].map(({ values, deletedAt }) =>
      [values['Number__c'], values['Email'], values['FirstName'], values['LeadSource'], deletedAt !== null].join(' '),
    );
    return { runs: await Promise.all(ended), written: written.toSorted() };
  },
};

async function org(settings: { bulkPageRows?: number } = {}): Promise<SalesforceServer> {
  const server = await salesforceServer({ ...settings, limits: LIMITS });
  server.field('Contact', { name: 'Number__c', type: 'string', externalId: true, unique: true });
  return server;
}

/** Every hundredth comes from where the other org takes none from. */
const contact = (n: number) => ({
  Email: personId(n),
  FirstName: `Name ${n}`,
  LastName: 'Person',
  LeadSource: n % 100 === 7 ? 'Nowhere' : 'Web',
  Number__c: `no ${n}`,
});

async function connect(stack: Stack, world: World, name: string, { url, app }: SalesforceServer): Promise<string> {
  const settings = { address: url, client_id: app.clientId, client_secret: app.clientSecret, bulk: 'always' };
  const made = { name, connector: 'salesforce', settings: { ...settings, daily_share: 100 } };
  return (await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', made)).identifier;
}

/** Returns the first run, and the second once the first has ended: then the source changes, and it is asked for. */
async function runsOf(stack: Stack, run: Run) {
  const { world, sync } = run;
  const find = async (identifier: string) => (await findRun(stack.store.db, world.entity.id, identifier))!;
  const first = await find(run.first);
  if (first.endedAt === null) return [first];
  if (run.second === null) {
    change(run);
    run.second = askForRun(stack, world, sync);
  }
  return [first, await find(await run.second)];
}

/** Changes, deletes and merges contacts from the first one on, and adds some. */
function change({ from, ids }: Run): void {
  const [changed, deleted] = [ids.slice(0, CHANGED), ids.slice(CHANGED, CHANGED + DELETED)];
  const merged = ids.slice(CHANGED + DELETED, CHANGED + DELETED + 2 * MERGED);
  for (const id of changed) from.put('Contact', { FirstName: 'Changed' }, { id });
  for (const id of deleted) from.delete('Contact', id);
  for (let n = 0; n < merged.length; n += 2) from.merge('Contact', merged[n]!, merged[n + 1]!);
  from.putMany(
    'Contact',
    Array.from({ length: NEW }, (_, n) => contact(CONTACTS + n)),
  );
}

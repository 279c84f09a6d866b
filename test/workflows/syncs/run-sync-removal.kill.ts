import { findRun } from '../../../store/syncs/sync-runs.ts';
import { personId } from '../../harness/core/people.ts';
import type { Stack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';
import { hubspotServer } from '../../harness/syncs/hubspot-server.ts';
import { ask, askForRun, makeSync, runSync } from '../../harness/syncs/syncs.ts';
import { importedValues } from '../imports/import-attributes.kill.ts';

const CONTACTS = 6_000;
const LIMITS = { perTenSeconds: 1_000_000, searchPerSecond: 1_000_000 };

type Ground = { world: World; sync: string };
type Run = Ground & { identifier: string };

/** A first run has brought all contacts; then some have changed, some have lost their addresses and some are gone. */
export const removalUnderKill: FlowUnderKill<Run, Ground> = {
  name: `a sync of ${CONTACTS.toLocaleString('en')} contacts, some without address, that removes what vanished`,
  boundaries: [
    { name: 'sync: after a batch was pinned', hit: 1 },
    { name: 'sync: before a batch commits', hit: 1 },
    { name: 'sync: before a batch commits', hit: 2 },
    { name: 'sync: after a batch committed', hit: 1 },
    { name: 'sync: before a removal commits', hit: 1 },
    { name: 'sync: after a removal committed', hit: 1 },
  ],
  async prepare(stack) {
    const world = await makeWorld(stack.store);
    const hubspot = await hubspotServer({ limits: LIMITS });
    const ids = hubspot.putMany(
      'contacts',
      Array.from({ length: CONTACTS }, (_, n) => ({ email: personId(n), firstname: `Name ${n}` })),
    );
    const { identifier: connection } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
      name: 'HubSpot',
      connector: 'hubspot',
      settings: { access_token: hubspot.key, address: hubspot.url, daily_share: 100 },
    });
    const sync = await makeSync(stack, world, {
      source: { connection, stream: 'contacts' },
      destination: { sor: world.sor.identifier },
      removes: true,
      mapping: { customer: { field: 'email' }, fields: [{ from: 'firstname', to: 'plan' }] },
    });
    const worker = stack.startWorker();
    await runSync(stack, world, sync);
    await worker.stop();
    for (const [n, id] of ids.entries()) {
      if (n % 10 === 7) hubspot.put('contacts', { email: null }, { id });
      else if (n % 10 === 3) hubspot.erase('contacts', id);
      else hubspot.put('contacts', { firstname: `Changed ${n}` }, { id });
    }
    hubspot.putMany(
      'contacts',
      Array.from({ length: 200 }, () => ({ firstname: 'No address' })),
    );
    return { world, sync };
  },
  begin: async (stack, ground) => ({ ...ground, identifier: await askForRun(stack, ground.world, ground.sync) }),
  progress: async (stack, run) => (await runOf(stack, run)).progress.read,
  size: CONTACTS,
  hasEnded: async (stack, run) => (await runOf(stack, run)).endedAt !== null,
  async outcome(stack, run) {
    const { state, removed, removal, progress, id } = await runOf(stack, run);
    const { rows } = await stack.store.db.query(
      `SELECT key, checksum IS NOT NULL AS is_written, seen_by = $2 AS is_seen FROM sync_records
       WHERE entity_id = $1 ORDER BY key`,
      [run.world.entity.id, id],
    );
    return {
      state,
      removed,
      removal,
      counts: { ...progress, position: null },
      records: rows as unknown[],
      values: await importedValues(stack, run.world),
    };
  },
};

async function runOf({ store }: Stack, { world, identifier }: Run) {
  return (await findRun(store.db, world.entity.id, identifier))!;
}

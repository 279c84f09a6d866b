import { findRun } from '../../../store/syncs/sync-runs.ts';
import { personId } from '../../harness/core/people.ts';
import type { Stack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';
import { type HubSpotServer, hubspotServer } from '../../harness/syncs/hubspot-server.ts';
import { ask, askForRun, makeSync, runErrors } from '../../harness/syncs/syncs.ts';

const CONTACTS = 11_000;
const LIMITS = { perTenSeconds: 1_000_000, searchPerSecond: 1_000_000 };

type Run = { world: World; identifier: string; to: HubSpotServer };

/** Contacts of one account are written into another by their addresses; some are no good, some are there already. */
export const hubspotSyncUnderKill: FlowUnderKill<Run> = {
  name: `a sync of ${CONTACTS.toLocaleString('en')} contacts from HubSpot to HubSpot`,
  boundaries: [
    { name: 'sync: batch written down', hit: 2 },
    { name: 'sync: batch sent', hit: 1 },
    { name: 'sync: batch sent', hit: 3 },
    { name: 'sync: before a batch commits', hit: 2 },
    { name: 'sync: after a batch committed', hit: 1 },
  ],
  async begin(stack) {
    const world = await makeWorld(stack.store);
    const [from, to] = [await hubspotServer({ limits: LIMITS }), await hubspotServer({ limits: LIMITS })];
    from.putMany(
      'contacts',
      Array.from({ length: CONTACTS }, (_, n) => contact(n)),
    );
    to.putMany(
      'contacts',
      Array.from({ length: 500 }, (_, n) => ({ ...contact(n * 3), firstname: 'Before' })),
    );
    const sync = await makeSync(stack, world, {
      source: { connection: await connect(stack, world, 'From', from), stream: 'contacts' },
      destination: { connection: await connect(stack, world, 'To', to), stream: 'contacts', key: ['email'] },
      mode: 'incremental',
      mapping: {
        customer: { field: 'email' },
        fields: [{ from: 'email' }, { from: 'firstname' }, { from: 'city', to: 'lifecyclestage' }],
      },
    });
    return { world, to, identifier: await askForRun(stack, world, sync) };
  },
  progress: async (stack, run) => (await runOf(stack, run)).progress.read,
  size: CONTACTS,
  hasEnded: async (stack, run) => (await runOf(stack, run)).endedAt !== null,
  async outcome(stack, run) {
    const ended = await runOf(stack, run);
    const errors = await runErrors(stack.store, run.world, ended);
    const written = [...run.to.records('contacts').values()].map(({ properties }) => {
      const { email, firstname, lifecyclestage } = properties;
      return [email, firstname, lifecyclestage];
    });
    return {
      counts: { ...ended.progress, position: null },
      state: ended.state,
      errors: errors.map(({ happenedAt: _, ...error }) => error),
      written: written.map((values) => values.join(' ')).toSorted(),
    };
  },
};

/** Every hundredth city is no stage that HubSpot takes. */
const contact = (n: number) => ({
  email: personId(n),
  firstname: `Name ${n}`,
  city: n % 100 === 7 ? 'nowhere' : 'lead',
});

async function connect(stack: Stack, world: World, name: string, { url, key }: HubSpotServer): Promise<string> {
  const settings = { access_token: key, address: url, searches_per_second: 1_000, daily_share: 100 };
  const made = { name, connector: 'hubspot', settings };
  return (await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', made)).identifier;
}

async function runOf({ store }: Stack, { world, identifier }: Run) {
  return (await findRun(store.db, world.entity.id, identifier))!;
}

import { write } from '../../../store/core/database.ts';
import { listReceipts } from '../../../store/gdpr/receipts.ts';
import type { GdprRequest } from '../../../store/gdpr/request-record.ts';
import { listGdprPeople } from '../../../store/gdpr/requests.ts';
import { insertMany } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import type { Stack } from '../../harness/core/stack.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { dataOf, readArchive } from '../../harness/gdpr/archives.ts';
import { askFor } from '../../harness/gdpr/gdpr.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';
import { ensureSampleMonths, sampleApp } from '../../harness/tracking/sdk-samples.ts';

const PEOPLE = [681, 682, 683, 684].map(personId);
const EVENTS = 5_000;

/** Four people with some events each, and one of whom nothing is known. */
export const gdprAccessUnderKill: FlowUnderKill<GdprRequest> = {
  name: 'a request for the data of five people',
  boundaries: [
    { name: 'gdpr: claimed', hit: 1 },
    { name: 'gdpr: collected', hit: 1 },
    { name: 'gdpr: archive put', hit: 1 },
    { name: 'gdpr: archive begun', hit: 2 },
    { name: 'gdpr: archive recorded', hit: 3 },
    // The last one.
    { name: 'gdpr: archive put', hit: 1 },
    { name: 'gdpr: before the receipt commits', hit: 1 },
  ],
  begin,
  async progress({ store: { db } }, { entityId, id }) {
    return (await listGdprPeople(db, entityId, id)).filter(({ state }) => state === 'treated').length;
  },
  size: PEOPLE.length + 1,
  hasEnded: async ({ store: { db } }, { id }) => {
    const { rows } = await db.query(`SELECT FROM gdpr_requests WHERE id = $1 AND state = 'treated'`, [id]);
    return rows.length === 1;
  },
  outcome,
};

async function begin(stack: Stack): Promise<GdprRequest> {
  const { store } = stack;
  const world = await makeWorld(store);
  await ensureSampleMonths(store.db);
  const appId = await write(store.db, (tx) => sampleApp(tx, world.entity.id));
  await insertMany(
    store.db,
    `INSERT INTO events (entity_id, app_id, happened_at, user_id, log_type, name)
     SELECT $1, $2, timestamptz '2026-11-02T00:00:00Z' + n * interval '1 second', person, 2, 'Event ' || n
     FROM unnest($3::text[]) AS person, generate_series(1, ${EVENTS}) n`,
    [world.entity.id, appId, PEOPLE],
  );
  return askFor(stack, 'access', world, [...PEOPLE, personId(685)]);
}

/**
 * What people get, and that no file lies there which no row names. Archives of other runs over the same files are none
 * of it.
 */
async function outcome(stack: Stack, { entityId, id, identifier }: GdprRequest): Promise<object> {
  const { db, files } = stack.store;
  const people = await listGdprPeople(db, entityId, id);
  const shown = await Promise.all(
    people.map(async (person) => {
      const data = person.archive && dataOf(await readArchive(stack, person)).data;
      return { state: person.state, message: person.message, events: data?.events!.map(({ name }) => name) };
    }),
  );
  const stored = await Array.fromAsync(files.list(`access/${identifier}/`), ({ key }) => key);
  const named = people.flatMap(({ archive }) => archive?.key ?? []);
  const receipts = await listReceipts(db, entityId, identifier);
  return {
    shown,
    unnamed: stored.filter((key) => !named.includes(key)),
    missing: named.filter((key) => !stored.includes(key)),
    receipts: receipts.map((receipt) => ({
      people: receipt.subjects.map(({ identifiers }) => identifiers),
      // The scratch folder is shared with runs beside this one.
      places: receipt.places.filter(({ place }) => place !== 'scratch/'),
      archives: receipt.type === 'access' && receipt.archives.length,
    })),
  };
}

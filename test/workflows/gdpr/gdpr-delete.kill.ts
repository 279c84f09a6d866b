import { write } from '../../../store/core/database.ts';
import { asBytes } from '../../../store/core/files.ts';
import { findOrInsertFileJob } from '../../../store/files/file-jobs.ts';
import { personalData } from '../../../store/gdpr/personal-data-registry.ts';
import { listReceipts } from '../../../store/gdpr/receipts.ts';
import type { GdprRequest } from '../../../store/gdpr/request-record.ts';
import { findGdprRequestById, listGdprPeople } from '../../../store/gdpr/requests.ts';
import { ensurePartitions } from '../../../store/tracking/event-partitions.ts';
import { personId } from '../../harness/core/people.ts';
import { ALL_EVENTS } from '../../harness/files/file-query.ts';
import { askFor, insertPeople, leftOf } from '../../harness/gdpr/gdpr.ts';
import type { Stack } from '../../harness/core/stack.ts';
import type { FlowUnderKill } from '../../harness/jobs/under-kill.ts';
import { sampled } from '../../harness/run/seed.ts';
import { makeTrackedWorld, type TrackedWorld } from '../../harness/tracking/tracked-calls.ts';

const PEOPLE = 600;
/** Of each a value, three events, a device and its user. */
const ROWS = PEOPLE * 6;
const IDS = Array.from({ length: PEOPLE }, (_, number) => personId(500_000 + number));
const OTHERS = Array.from({ length: 20 }, (_, number) => personId(600_000 + number));

/** The tables in which the entity has rows: only these have a step. */
const TABLES = ['attribute_values', 'events', 'devices', 'device_users', 'gdpr_identifiers', 'gdpr_request_people'];
/**
 * All places with a step: between any two of them nothing may be lost. The seed draws those that join the boundaries.
 */
const PLACES = personalData
  .filter(({ erase }) => erase !== null)
  .map(({ name }) => name)
  .filter((name) => name.endsWith('/') || TABLES.includes(name));
const SHARE_OF_PLACES = 0.25;
/** Of one export, which was asked for twice. */
const FILES = 2;

/** A finished file that cannot be searched. */
async function insertSheet({ db, files, secrets }: Stack['store'], { entity, user }: TrackedWorld): Promise<void> {
  const asked = { kind: 'events', format: 'xlsx', query: ALL_EVENTS, email: null, createdBy: user.id } as const;
  const { identifier } = await write(db, (tx) => findOrInsertFileJob(tx, secrets, entity.id, asked));
  const key = `files/${identifier}/1.xlsx`;
  await files.put(key, asBytes('x'));
  await db.query(
    `UPDATE file_jobs SET state = 'finished', ended_at = now(), first_ended_at = now(), begun_at = now(), file_key = $2, file_bytes = 1
     WHERE identifier = $1`,
    [identifier, key],
  );
}

/** Several people who are in several places. */
export const gdprDeleteUnderKill: FlowUnderKill<{ world: TrackedWorld; request: GdprRequest }, TrackedWorld> = {
  name: 'a deletion of 600 people',
  boundaries: [
    { name: 'gdpr: claimed', hit: 1 },
    { name: 'gdpr: collected', hit: 2 },
    { name: 'gdpr: raised', hit: 1 },
    { name: 'gdpr: erasing begun', hit: 1 },
    ...sampled('places killed at', PLACES, SHARE_OF_PLACES).map((place) => ({ name: `gdpr: erased ${place}`, hit: 1 })),
    { name: 'files: deletion noted', hit: 1 },
    { name: 'files: deleted', hit: 2 },
    { name: 'gdpr: looked', hit: 1 },
    { name: 'gdpr: lists recorded', hit: 1 },
    { name: 'gdpr: before the receipt commits', hit: 1 },
    { name: 'gdpr: after the receipt committed', hit: 1 },
  ],
  async prepare({ store }) {
    await ensurePartitions(store.db, [new Date('2026-11-05T10:00:00Z')]);
    const world = await makeTrackedWorld(store);
    await insertPeople(store, world, [...IDS, ...OTHERS]);
    for (let file = 0; file < FILES; file += 1) await insertSheet(store, world);
    return world;
  },
  begin: async (stack, world) => ({ world, request: await askFor(stack, 'delete', world, IDS) }),
  async progress({ store }, { request }) {
    const { erased } = (await findGdprRequestById(store.db, request.entityId, request.id))!;
    return Object.values(erased).reduce((sum, rows) => sum + rows, 0);
  },
  size: ROWS,
  // The workflow goes on for a week: what is left to be killed is over once the mail is, of which there is none.
  hasEnded: async ({ store, temporal }, { request }) => {
    const found = (await findGdprRequestById(store.db, request.entityId, request.id))!;
    if (found.state !== 'treated') return false;
    const { raw } = await temporal.workflow.getHandle(`gdpr/${request.identifier}`).describe();
    return (raw.pendingActivities ?? []).length === 0 && (raw.pendingWorkflowTask ?? null) === null;
  },
  async outcome({ store }, { world, request }) {
    const found = (await findGdprRequestById(store.db, request.entityId, request.id))!;
    const people = await listGdprPeople(store.db, request.entityId, request.id);
    const receipts = await listReceipts(store.db, request.entityId, request.identifier);
    const of = (ids: string[]) => leftOf(store, world.entity.id, ids);
    return {
      state: found.state,
      round: found.round,
      erased: found.erased,
      survivors: found.survivors,
      fault: found.fault,
      faults: found.locationFaults,
      people: people.map(({ state, round }) => `${state} ${round}`),
      left: await of(IDS),
      others: await of(OTHERS),
      identifiers: (await store.db.query('SELECT FROM gdpr_identifiers WHERE request_id = $1', [request.id])).rowCount,
      receipts: receipts.map((receipt) => ({
        round: receipt.round,
        subjects: receipt.subjects.length,
        places: 'copies' in receipt ? receipt.places : null,
      })),
    };
  },
};

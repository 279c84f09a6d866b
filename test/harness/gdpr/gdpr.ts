import { startJob } from '../../../temporal/flows.ts';
import { jobRefOf } from '../../../domain/jobs/job.ts';
import { write } from '../../../store/core/database.ts';
import { personalData } from '../../../store/gdpr/personal-data-registry.ts';
import type { GdprRequest, GdprRequestType } from '../../../store/gdpr/request-record.ts';
import { findGdprRequestById, type NewGdprRequest } from '../../../store/gdpr/requests.ts';
import type { Person } from '../../../store/gdpr/tombstones.ts';
import type { TestStore } from '../core/database.ts';
import type { Stack } from '../core/stack.ts';
import { waitFor } from '../core/wait.ts';
import type { World } from '../core/world.ts';
import { requestByApi } from './gdpr-requests.ts';

/** Asks for the data of users, or for its deletion, as the API does. */
export async function askFor(
  { store, temporal }: Stack,
  type: GdprRequestType,
  world: Pick<World, 'entity' | 'user'>,
  userIds: string[],
  more: Partial<NewGdprRequest> = {},
): Promise<GdprRequest> {
  const asked = await write(store.db, (tx) => requestByApi(tx, type, world, userIds, more));
  await startJob(temporal, type, jobRefOf(asked));
  return asked;
}

/** Once a request stands as is wished. */
export function requestWhen(
  { db }: Pick<TestStore, 'db'>,
  { entityId, id, identifier }: GdprRequest,
  what: string,
  is: (request: GdprRequest) => boolean,
): Promise<GdprRequest> {
  return waitFor(`${identifier}, ${what}`, async () => {
    const request = await findGdprRequestById(db, entityId, id);
    return request && is(request) ? request : null;
  });
}

export const requestTreated = (store: Pick<TestStore, 'db'>, request: GdprRequest): Promise<GdprRequest> =>
  requestWhen(store, request, 'treated', ({ state }) => state === 'treated');

const FILES_THAT_NAME = { round: '', wasInTables: false, filesBefore: new Date('9999-01-01') };

/**
 * By place, what it still has of users that `insertPeople` has made, and of their devices; places that have nothing are
 * left out. Of files those in which an id stands.
 */
export async function leftOf(
  store: TestStore,
  entityId: number,
  userIds: readonly string[],
): Promise<Record<string, number>> {
  const people = userIds.flatMap((id): Person[] => [
    { customerType: 'user_id', customerId: id },
    { customerType: 'device_id', customerId: `device of ${id}` },
  ]);
  const left: Record<string, number> = {};
  for (const place of personalData) {
    const rows = place.erase === null ? 0 : await place.count({ ...store, erasure: FILES_THAT_NAME }, entityId, people);
    if (rows > 0) left[place.name] = rows;
  }
  return left;
}

/** A value, and an event on a device of theirs, for each of so many people, in the order of their numbers. */
export async function insertPeople(
  { db }: Pick<TestStore, 'db'>,
  { entity, sor, attributes, app }: World & { app: { id: number } },
  ids: readonly string[],
): Promise<void> {
  const whose = [entity.id, ids];
  await write(db, async (tx) => {
    await tx.query(
      `INSERT INTO attribute_values (entity_id, customer_type, customer_id, attribute_id, sor_id, changed_at, string_value)
       SELECT $1, 0, id, $3, $4, now(), 'gold' FROM unnest($2::text[]) AS p (id)`,
      [...whose, attributes.plan!.id, sor.id],
    );
    await tx.query(
      `INSERT INTO devices (entity_id, app_id, device_id, last_user_id, push_token, first_seen_at, last_seen_at)
       SELECT $1, $3, 'device of ' || id, id, 'token of ' || id, now(), now() FROM unnest($2::text[]) AS p (id)`,
      [...whose, app.id],
    );
    await tx.query(
      `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
       SELECT $1, $3, 'device of ' || id, id, now() FROM unnest($2::text[]) AS p (id)`,
      [...whose, app.id],
    );
    await tx.query(
      `INSERT INTO events (entity_id, app_id, happened_at, device_id, user_id, log_type, name)
       SELECT $1, $3, '2026-11-05T10:00:00Z', 'device of ' || id, CASE WHEN n < 3 THEN id END, 2, 'Bought ' || n
       FROM unnest($2::text[]) AS p (id), generate_series(1, 3) n`,
      [...whose, app.id],
    );
  });
}

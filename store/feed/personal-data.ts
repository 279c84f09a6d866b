/** Location of personal data in feeds: requests whose values wait to be merged. */
import { textOf } from '../../domain/attributes/json-value.ts';
import type { Row } from '../core/camel-row.ts';
import { parseExactJson } from '../../domain/json/exact-json.ts';
import { createNameFinder } from '../../domain/text/name-finder.ts';
import { type FeedValue, readCustomerType, type WaitingValue } from '../../domain/feed/feed-value.ts';
import { type Queryable, type Tx, write } from '../core/database.ts';
import type { Secrets } from '../core/secrets.ts';
import { isVouchedFor, knownToSors } from '../gdpr/people-keys.ts';
import {
  type KnownBy,
  type LocationDependencies,
  type PersonalDataLocation,
  withColumns,
} from '../gdpr/personal-data-location.ts';
import type { Person } from '../gdpr/tombstones.ts';
import { lockFeed } from './feed-requests.ts';

export const feedRequests: PersonalDataLocation = {
  ...withColumns({
    name: 'feed_requests',
    columns: 'body',
    otherColumns: `entity_id, id, identifier, sor_id, version, received_at, body_bytes, values_in, values_ok,
      values_ignored, values_failed, done_at, app_id, said_at, suspicious_ids`,
    holds: 'the values of a JSON feed until Millrace has merged them; then the body is gone',
    foundBy: 'customer id and type of each value',
    erasedBy: 'replacing the value with the keyed hash; Millrace merges all others',
    keptFor: 'a week after the request has finished',
  }),
  // The merge refuses erased people in later requests.
  async count({ db, writtenBefore }, entityId, people) {
    return (await Array.fromAsync(listWaitingValuesOf(db, entityId, people, writtenBefore))).length;
  },
  export: ({ db }, entityId, people) => listWaitingValuesOf(db, entityId, people),
  erase: eraseWaitingValuesOf,
};

/** Number of bodies in memory, each of up to 10 MB. */
const PAGE = 4;

type Waiting = { id: number; values: WaitingValue[] };

/** Finds the person of a value. A value with an unknown type may belong to any user with the id. */
type Finder = {
  isAnySought: boolean;
  mayName: (body: string) => boolean;
  personOf: (value: WaitingValue) => Person | undefined;
};

/** Yields the waiting values of these people; `before` limits them to earlier requests. */
async function* listWaitingValuesOf(
  db: Queryable,
  entityId: number,
  people: KnownBy[],
  before: Date | null = null,
): AsyncGenerator<FeedValue> {
  const finder = finderOf(people);
  if (!finder.isAnySought) return;
  for (let after = 0; ;) {
    const { waiting, last } = await listPage(db, entityId, finder, { after, before });
    for (const { values } of waiting) yield* values.filter((value) => finder.personOf(value)) as FeedValue[];
    if (last === undefined) return;
    after = last;
  }
}

/** Replaces their waiting values by the keyed hash: they count as failed, others still merge. Returns their number. */
async function eraseWaitingValuesOf(
  { db, secrets, tally }: Pick<LocationDependencies, 'db' | 'secrets' | 'tally'>,
  entityId: number,
  people: KnownBy[],
): Promise<number> {
  const finder = finderOf(people);
  if (!finder.isAnySought) return 0;
  let erased = 0;
  for (let after = 0; ;) {
    const page = await write(db, async (tx) => {
      await lockFeed(tx, entityId);
      const { waiting, last } = await listPage(tx, entityId, finder, { after, before: null });
      let changed = 0;
      for (const each of waiting) changed += await eraseIn(tx, secrets, entityId, each, finder);
      if (changed > 0) await tally?.(tx, changed);
      return { changed, last };
    });
    erased += page.changed;
    if (page.last === undefined) return erased;
    after = page.last;
  }
}

async function eraseIn(
  tx: Tx,
  secrets: Secrets,
  entityId: number,
  { id, values }: Waiting,
  { personOf }: Finder,
): Promise<number> {
  let changed = 0;
  const left = values.map((value) => {
    const person = personOf(value);
    if (!person) return value;
    changed += 1;
    return secrets.customerHash(entityId, person.customerType, person.customerId).toString('hex');
  });
  if (changed === 0) return 0;
  const body = JSON.stringify(left);
  await tx.query(
    'UPDATE feed_requests SET body = $3, body_bytes = $4 WHERE entity_id = $1 AND id = $2 AND done_at IS NULL',
    [entityId, id, body, Buffer.byteLength(body)],
  );
  return changed;
}

/** Lists the next waiting requests whose body contains one of the ids, and the last request that was read. */
async function listPage(
  db: Queryable,
  entityId: number,
  { mayName }: Finder,
  { after, before }: { after: number; before: Date | null },
): Promise<{ waiting: Waiting[]; last: number | undefined }> {
  const { rows } = await db.query<Row<'feed_requests', 'id', { body: string }>>(
    `SELECT id, body FROM feed_requests WHERE entity_id = $1 AND done_at IS NULL AND id > $2
       AND ($3::timestamptz IS NULL OR received_at < $3) ORDER BY id LIMIT ${PAGE}`,
    [entityId, after, before],
  );
  const naming = rows.filter(({ body }) => mayName(body));
  return {
    waiting: naming.map(({ id, body }) => ({ id, values: parseExactJson(body) as WaitingValue[] })),
    last: rows.at(-1)?.id,
  };
}

function finderOf(people: KnownBy[]): Finder {
  const customers = knownToSors(people);
  const byId = Map.groupBy(customers, ({ customerId }) => customerId);
  // Both are written by JSON.stringify.
  let find: ReturnType<typeof createNameFinder> | undefined;
  return {
    isAnySought: customers.length > 0,
    mayName(body) {
      find ??= createNameFinder([...byId.keys()].map((id) => [JSON.stringify(id).slice(1, -1)]));
      return find(body).size > 0;
    },
    personOf(value) {
      if (typeof value === 'string') return undefined;
      const customerType = readCustomerType(value.customer_id_type);
      return byId
        .get(textOf(value.customer_id) ?? '')
        ?.find((person) => (customerType === undefined ? isVouchedFor(person) : customerType === person.customerType));
    },
  };
}

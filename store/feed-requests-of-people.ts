import { type Database, type Queryable, type Tx, write } from './database.ts';
import { lockFeed } from './feed-requests.ts';
import type { Secrets } from './secrets.ts';
import type { Person } from './tombstones.ts';
import { parseExactJson } from '../domain/exact-json.ts';
import type { WaitingValue } from '../domain/feed-batch.ts';
import { type FeedValue, readCustomerType } from '../domain/feed-value.ts';
import { textOf } from '../domain/json-value.ts';

/** So many bodies at once, each of up to 10 MB. */
const PAGE = 4;

type Waiting = { id: number; values: WaitingValue[] };

/** The waiting values of these people. */
export async function* listWaitingValuesOf(db: Queryable, entityId: number, people: Person[]): AsyncGenerator<FeedValue> {
  for (let after = 0; ;) {
    const page = await listNaming(db, entityId, people, after);
    if (page.length === 0) return;
    for (const { values } of page) yield* values.filter((value) => personOf(value, people)) as FeedValue[];
    after = page.at(-1)!.id;
  }
}

/**
 * Puts the keyed hash in the place of each of their waiting values, so that all other values of the request are still
 * merged and these are counted as failed. Returns how many there were.
 */
export async function eraseWaitingValuesOf(
  { db, secrets }: { db: Database; secrets: Secrets }, entityId: number, people: Person[],
): Promise<number> {
  let erased = 0;
  for (let after = 0; ;) {
    const page = await write(db, async (tx) => {
      await lockFeed(tx, entityId);
      const found = await listNaming(tx, entityId, people, after);
      let changed = 0;
      for (const waiting of found) changed += await eraseIn(tx, secrets, entityId, waiting, people);
      return { changed, last: found.at(-1)?.id };
    });
    erased += page.changed;
    if (page.last === undefined) return erased;
    after = page.last;
  }
}

async function eraseIn(tx: Tx, secrets: Secrets, entityId: number, { id, values }: Waiting, people: Person[]): Promise<number> {
  let changed = 0;
  const left = values.map((value) => {
    const person = personOf(value, people);
    if (!person) return value;
    changed += 1;
    return secrets.customerHash(entityId, person.customerType, person.customerId).toString('hex');
  });
  if (changed === 0) return 0;
  const body = JSON.stringify(left);
  await tx.query('UPDATE feed_requests SET body = $3, body_bytes = $4 WHERE entity_id = $1 AND id = $2 AND done_at IS NULL',
    [entityId, id, body, Buffer.byteLength(body)]);
  return changed;
}

/** The waiting requests in whose body one of the ids stands, as JSON.stringify wrote both. */
async function listNaming(db: Queryable, entityId: number, people: Person[], after: number): Promise<Waiting[]> {
  const { rows } = await db.query<{ id: number; body: string }>(
    `SELECT id, body FROM feed_requests
     WHERE entity_id = $1 AND done_at IS NULL AND id > $2
       AND EXISTS (SELECT FROM unnest($3::text[]) AS named WHERE position(named IN body) > 0)
     ORDER BY id LIMIT ${PAGE}`, [entityId, after, people.map(({ customerId }) => JSON.stringify(customerId).slice(1, -1))]);
  return rows.map(({ id, body }) => ({ id, values: parseExactJson(body) as WaitingValue[] }));
}

/** Whose value it is. One with a type that there is none of is anybody's who has the id. */
function personOf(value: WaitingValue, people: Person[]): Person | undefined {
  if (typeof value === 'string') return undefined;
  const customerId = textOf(value.customer_id);
  const customerType = readCustomerType(value.customer_id_type);
  return people.find((person) => person.customerId === customerId && (customerType ?? person.customerType) === person.customerType);
}

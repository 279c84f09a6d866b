/** Traits of calls: creates the attributes of new keys, and hands the values to the feed. */

import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import { inferValueType } from '../../domain/attributes/infer-value-type.ts';
import { widensType } from '../../domain/attributes/widen-type.ts';
import { isLongerThan, isStorable, MAX_CODE_POINTS } from '../../domain/text/text-limits.ts';
import { traitValues } from '../../domain/tracking/call-traits.ts';
import { insertAuditEntries } from '../accounts/audit-log.ts';
import { raiseSorRevision } from '../attributes/customer-attributes.ts';
import { lockSorRules } from '../attributes/sor-rules-lock.ts';
import { readRows, type Row } from '../core/camel-row.ts';
import { type Database, type Queryable, type Tx, write } from '../core/database.ts';
import { newIdentifier } from '../core/identifiers.ts';
import type { Secrets } from '../core/secrets.ts';
import { insertFeedRequests, type NewFeedRequest } from '../feed/feed-requests.ts';
import { findErasedCalls, type AppCall } from './app-call.ts';
import { insertLiveCalls } from './call-reports.ts';

/** Maximum number of attributes that a System of Records gets by itself; the feed ignores values of further keys. */
const MAX_ATTRIBUTES = 500;

const REQUEST_VALUES = 3_000;
const REQUEST_LENGTH = 4 * 1024 ** 2;

type GivenKeys = { appId: number; values: Map<string, unknown[]> };

/**
 * Creates the attributes of new keys, each with the type of its first value; until staff define it, the first value of
 * another type makes it a String. Runs before the transaction of the calls, which should not wait with its lock for
 * merges. Calls of erased people change nothing. Repeated calls need no check: the first one created their attributes.
 */
export async function insertNewAttributes(
  db: Database,
  secrets: Secrets,
  entityId: number,
  calls: readonly AppCall[],
): Promise<void> {
  for (const [sorId, given] of keysBySor(calls)) {
    if (!(await changesAny(db, entityId, sorId, given))) continue;
    // Only here, since hardly any batch has a new key.
    const erased = await findErasedCalls(db, secrets, entityId, calls);
    const living = erased.size === 0 ? given : keysBySor(calls.filter((call) => !erased.has(call))).get(sorId);
    if (living === undefined) continue;
    await write(db, async (tx) => {
      await lockSorRules(tx, sorId);
      const isNew = await insertMissing(tx, entityId, sorId, living);
      const isWidened = await widenTypes(tx, secrets, { entityId, sorId }, living);
      if (isNew || isWidened) await raiseSorRevision(tx, entityId, sorId);
    });
  }
}

function keysBySor(calls: readonly AppCall[]): Map<number, GivenKeys> {
  const bySor = new Map<number, GivenKeys>();
  for (const { sorId, appId, traits } of calls) {
    if (sorId === null) continue;
    for (const { sor, key, value } of traits) {
      if (sor !== 'app' || !canBeKey(key) || inferValueType(value) === null) continue;
      const given = bySor.get(sorId) ?? { appId, values: new Map<string, unknown[]>() };
      bySor.set(sorId, given);
      const values = given.values.get(key);
      if (values) values.push(value);
      else given.values.set(key, [value]);
    }
  }
  return bySor;
}

function canBeKey(key: string): boolean {
  return key !== '' && isStorable(key) && !isLongerThan(key, MAX_CODE_POINTS);
}

/** Returns whether a key is new and may be added, or a value widens a guessed type. */
async function changesAny(db: Queryable, entityId: number, sorId: number, { values }: GivenKeys): Promise<boolean> {
  const {
    rows: [found],
  } = await db.query<{ count: number; known: number; keys: string[] | null; types: ValueType[] | null }>({
    name: 'list-attributes-of-keys',
    text: `SELECT count(*), count(*) FILTER (WHERE key = ANY ($3)) AS known,
             array_agg(key) FILTER (WHERE key = ANY ($3) AND ${CAN_WIDEN}) AS keys,
             array_agg(value_type) FILTER (WHERE key = ANY ($3) AND ${CAN_WIDEN}) AS types
           FROM customer_attributes WHERE entity_id = $1 AND sor_id = $2 AND deleted_at IS NULL`,
    values: [entityId, sorId, [...values.keys()]],
  });
  const { count, known, keys, types } = found!;
  return (
    (known < values.size && count < MAX_ATTRIBUTES) ||
    (keys ?? []).some((key, nth) => values.get(key)!.some((value) => widensType(types![nth]!, value)))
  );
}

const CAN_WIDEN = `is_guessed AND value_type NOT IN ('String', 'Set')`;

/** Returns whether any attribute became a String, for the audit log and the live list. Needs the lock of the rules. */
async function widenTypes(
  tx: Tx,
  secrets: Secrets,
  { entityId, sorId }: { entityId: number; sorId: number },
  { appId, values }: GivenKeys,
): Promise<boolean> {
  const guessed = readRows<Row<'customer_attributes', 'id' | 'identifier' | 'key' | 'valueType'>>(
    await tx.query(
      `SELECT id, identifier, key, value_type FROM customer_attributes
     WHERE entity_id = $1 AND sor_id = $2 AND key = ANY ($3) AND deleted_at IS NULL AND ${CAN_WIDEN}`,
      [entityId, sorId, [...values.keys()]],
    ),
  );
  const widened = guessed.filter(({ key, valueType }) =>
    values.get(key)!.some((value) => widensType(valueType, value)),
  );
  if (widened.length === 0) return false;
  await tx.query(
    `UPDATE customer_attributes SET is_guessed = false, widened_from = value_type, value_type = 'String'
     WHERE entity_id = $1 AND id = ANY ($2)`,
    [entityId, widened.map(({ id }) => id)],
  );
  await insertAuditEntries(
    tx,
    entityId,
    widened.map(({ identifier, valueType }) => ({
      actorKind: 'system',
      action: 'update',
      subjectKind: 'customer_attribute',
      subject: identifier,
      details: { value_type: 'String', widened_from: valueType },
    })),
  );
  await insertLiveCalls(
    tx,
    secrets,
    entityId,
    widened.map(({ key, valueType }) => ({
      appId,
      receivedAt: new Date(),
      outcome: 'widened',
      code: null,
      messageId: null,
      call: key,
      people: [],
      message: `its first value was a ${valueType}, and one of another type came: its attribute is a String now`,
    })),
  );
  return true;
}

/** Inserts missing attributes up to the maximum, and returns whether there were any. Needs the lock of the rules. */
async function insertMissing(tx: Tx, entityId: number, sorId: number, { values }: GivenKeys): Promise<boolean> {
  const { rowCount } = await tx.query(
    `INSERT INTO customer_attributes (entity_id, sor_id, identifier, key, label, value_type, is_guessed)
     SELECT $1, $2, identifier, key, key, value_type, true
     FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS given (identifier, key, value_type, ordinal)
     WHERE NOT EXISTS (SELECT FROM customer_attributes a
       WHERE a.entity_id = $1 AND a.sor_id = $2 AND a.key = given.key AND a.deleted_at IS NULL)
       AND EXISTS (SELECT FROM systems_of_records WHERE entity_id = $1 AND id = $2 AND deleted_at IS NULL)
     ORDER BY ordinal
     LIMIT greatest(0, ${MAX_ATTRIBUTES} - (
       SELECT count(*) FROM customer_attributes WHERE entity_id = $1 AND sor_id = $2 AND deleted_at IS NULL))
     ON CONFLICT (entity_id, sor_id, key) WHERE deleted_at IS NULL DO NOTHING`,
    [
      entityId,
      sorId,
      Array.from(values, () => newIdentifier('atr')),
      [...values.keys()],
      Array.from(values.values(), ([first]) => inferValueType(first)),
    ],
  );
  return rowCount! > 0;
}

/** Inserts traits as feed requests, with the times of their calls. Wake the feed after the commit. */
export async function insertTraits(tx: Tx, entityId: number, calls: readonly AppCall[]): Promise<void> {
  const telling = calls.filter(({ traits }) => traits.length > 0);
  if (telling.length === 0) return;
  const types = await findTypes(tx, entityId, telling);
  const requests = new Map<string, RequestBodies>();
  for (const call of telling) {
    const customer =
      call.userId === null
        ? { customerId: call.deviceId!, customerType: 'device_id' as const }
        : { customerId: call.userId, customerType: 'user_id' as const };
    for (const { sor, key, value } of call.traits) {
      const sorId = sorOf(call, sor);
      if (sorId === null) continue;
      const name = `${sorId} ${call.appId}`;
      const bodies = requests.get(name) ?? new RequestBodies(sorId, call.appId);
      requests.set(name, bodies);
      const values = traitValues(customer, key, value, types.get(typeKey(sorId, key)) ?? null);
      for (const given of values) bodies.add(JSON.stringify(given), call.happenedAt);
    }
  }
  const made = [...requests.values()].flatMap((bodies) => bodies.all());
  if (made.length > 0) await insertFeedRequests(tx, entityId, made);
}

function sorOf(call: AppCall, sor: 'app' | 'global'): number | null {
  return sor === 'app' ? call.sorId : (call.globalSorId ?? null);
}

async function findTypes(tx: Tx, entityId: number, calls: AppCall[]): Promise<Map<string, ValueType>> {
  const keys = new Set(calls.flatMap(({ traits }) => traits.map(({ key }) => key)));
  const sorIds = new Set(calls.flatMap((call) => [call.sorId, call.globalSorId ?? null]));
  sorIds.delete(null);
  const rows = readRows<Row<'customer_attributes', 'sorId' | 'key' | 'valueType'>>(
    await tx.query({
      name: 'list-types-of-keys',
      text: `SELECT sor_id, key, value_type FROM customer_attributes
           WHERE entity_id = $1 AND sor_id = ANY ($2) AND key = ANY ($3) AND deleted_at IS NULL`,
      values: [entityId, [...sorIds], [...keys]],
    }),
  );
  return new Map(rows.map((row) => [typeKey(row.sorId, row.key), row.valueType]));
}

function typeKey(sorId: number, key: string): string {
  return `${sorId} ${key}`;
}

class RequestBodies {
  readonly #sorId: number;
  readonly #appId: number;
  readonly #done: NewFeedRequest[] = [];
  #values: string[] = [];
  #saidAt: number[] = [];
  #length = 0;

  constructor(sorId: number, appId: number) {
    this.#sorId = sorId;
    this.#appId = appId;
  }

  add(value: string, saidAt: number): void {
    if (
      this.#values.length === REQUEST_VALUES ||
      (this.#values.length > 0 && this.#length + value.length > REQUEST_LENGTH)
    )
      this.#end();
    this.#values.push(value);
    this.#saidAt.push(saidAt);
    this.#length += value.length;
  }

  all(): NewFeedRequest[] {
    if (this.#values.length > 0) this.#end();
    return this.#done;
  }

  #end(): void {
    const traits = { appId: this.#appId, saidAt: this.#saidAt };
    this.#done.push({
      sorId: this.#sorId,
      version: 3,
      valuesIn: this.#values.length,
      body: `[${this.#values.join(',')}]`,
      traits,
    });
    this.#values = [];
    this.#saidAt = [];
    this.#length = 0;
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import type { AttributeChange } from '../domain/attributes/attribute-change.ts';
import { parseAttributeValue } from '../domain/attributes/attribute-value.ts';
import { type CustomerAttribute, listCustomerAttributesOf } from '../store/attributes/customer-attributes.ts';
import { mergeAttributeValues, prepareChanges } from '../store/attributes/merge-attribute-values.ts';
import { type Database, openDatabase, write } from '../store/core/database.ts';
import type { Secrets } from '../store/core/secrets.ts';
import { ATTRIBUTES, sampleValue } from './import-file.ts';
import type { Line, Size } from './line.ts';
import { atLeast, type Figure, median } from './report.ts';
import { type BenchSor, createSor, type RunningService } from './service.ts';

const PER_REQUEST = 50;
/** Requests under way at once. */
const CLIENTS = 64;

const VALUES: Record<Size, number> = { quick: 50_000, full: 500_000 };

type Target = { entityId: number; sorId: number; attributes: CustomerAttribute[] };

const titleOf = (values: number) => `feed, ${values.toLocaleString('en')} values in requests of ${PER_REQUEST}`;

/** The JSON feed, from the first request to the last value merged, against the same values in one set-based merge. */
export const jsonFeed: Line = {
  key: 'feed',
  titles: (size) => [titleOf(VALUES[size])],
  async *measure(context) {
    const db = openDatabase({ url: await context.databaseUrl(), max: 2, name: 'bench' });
    const service = await context.service();
    const runs: Figure[] = [];
    for (let round = 0; round < context.rounds; round += 1)
      runs.push(await measureRound(service, db, VALUES[context.size]));
    await db.end();
    yield median(runs);
  },
};

async function measureRound(service: RunningService, db: Database, values: number): Promise<Figure> {
  await settle(db);
  const merged = await mergeAtOnce(db, await targetOf(db, await createSor(service)), values);
  await settle(db);
  const sor = await createSor(service);
  const fed = await feed(service, db, sor, values);
  const { entityId, sorId } = await targetOf(db, sor);
  const { rows } = await db.query<{ there: number }>(
    'SELECT count(*) AS there FROM attribute_values WHERE entity_id = $1 AND sor_id = $2',
    [entityId, sorId],
  );
  if (rows[0]!.there !== values) throw new Error(`the feed brought ${rows[0]!.there} of ${values} values`);
  return atLeast(titleOf(values), 'values/s', values / fed, values / merged, 0.3);
}

async function settle(db: Database): Promise<void> {
  await db.query('TRUNCATE attribute_values, customers, attribute_change_log');
  await db.query('CHECKPOINT');
}

async function targetOf(db: Database, sor: BenchSor): Promise<Target> {
  const { rows } = await db.query<{ id: number; entity_id: number }>(
    'SELECT id, entity_id FROM systems_of_records WHERE identifier = $1',
    [sor.identifier],
  );
  const { id: sorId, entity_id: entityId } = rows[0]!;
  return { entityId, sorId, attributes: await listCustomerAttributesOf(db, entityId, [sorId]) };
}

/** Returns the customer and attribute of the `index`-th value: customers in the order of a hash, each with all. */
function at(index: number) {
  const customer = Math.floor(index / ATTRIBUTES.length);
  const [key, type] = ATTRIBUTES[index % ATTRIBUTES.length]!;
  const customerId = `customer-${String((customer * 7_919) % 1_000_003).padStart(7, '0')}`;
  return { key, type, customerId, text: sampleValue(type, customer) };
}

/** Returns the seconds of the merge alone, of values in memory. No person was erased, so no secret is needed. */
async function mergeAtOnce(db: Database, { entityId, sorId, attributes }: Target, values: number): Promise<number> {
  const ids = new Map(attributes.map(({ key, id }) => [key, id]));
  const changes = Array.from({ length: values }, (_, line): AttributeChange => {
    const { key, type, customerId, text } = at(line);
    const parsed = parseAttributeValue(type, text);
    if (!parsed.ok) throw new Error(parsed.message);
    return {
      kind: 'value',
      line,
      customerType: 'user_id',
      customerId,
      attributeId: ids.get(key)!,
      valueType: type,
      value: parsed.value,
    };
  });
  const began = performance.now();
  await write(db, (tx) => mergeAttributeValues(tx, {} as Secrets, entityId, sorId, prepareChanges(changes)), {
    collide: true,
  });
  return (performance.now() - began) / 1000;
}

/** Returns the seconds until the last value is merged, of bodies in memory. */
async function feed({ url }: RunningService, db: Database, sor: BenchSor, values: number): Promise<number> {
  const bodies = Array.from({ length: Math.ceil(values / PER_REQUEST) }, (_, request) =>
    bodyOf(sor, request * PER_REQUEST, values),
  );
  const pool = new Pool(url, { connections: CLIENTS });
  const began = performance.now();
  const client = async () => {
    for (let body = bodies.pop(); body; body = bodies.pop()) await post(pool, body);
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  while (await hasWaiting(db)) await delay(20);
  const ended = performance.now();
  await pool.close();
  return (ended - began) / 1000;
}

function bodyOf(sor: BenchSor, from: number, values: number): string {
  const given = Array.from({ length: Math.min(PER_REQUEST, values - from) }, (_, index) => {
    const { key, type, customerId, text } = at(from + index);
    const value = type === 'Number' ? Number(text) : type === 'Boolean' ? text === 'true' : text;
    return { attribute_key: key, attribute_value: value, customer_id: customerId };
  });
  return JSON.stringify({ sor: sor.identifier, api_key: sor.apiKey, customer_attribute_values: given });
}

/** Posts again each time the feed says that it is full. */
async function post(pool: Pool, body: string): Promise<void> {
  for (;;) {
    const reply = await pool.request({
      method: 'POST',
      path: '/api/attribute_values',
      headers: { 'content-type': 'application/json' },
      body,
    });
    const answer = await reply.body.text();
    if (reply.statusCode === 200) return;
    if (reply.statusCode !== 429) throw new Error(`the feed was refused: ${answer}`);
    await delay(Number(reply.headers['retry-after']) * 1000);
  }
}

async function hasWaiting(db: Database): Promise<boolean> {
  const { rowCount } = await db.query('SELECT FROM feed_requests WHERE done_at IS NULL LIMIT 1');
  return rowCount === 1;
}

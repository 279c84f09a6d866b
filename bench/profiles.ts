import pg from 'pg';
import { ATTRIBUTES } from './import-file.ts';
import type { Line, Size } from './line.ts';
import { atMostTimes } from './report.ts';
import { createSor, type RunningService } from './service.ts';
import { medians } from './timed.ts';

const CUSTOMERS: Record<Size, number> = { quick: 100_000, full: 2_000_000 };
const PER_PAGE = 2_000;
const TURNS = { runs: 9, warmUps: 1 };

function titlesOf(size: Size): [page: string, lastPage: string] {
  const title = `${PER_PAGE.toLocaleString('en')} profiles of ${CUSTOMERS[size].toLocaleString('en')}`;
  return [`a page of ${title}, with its total`, `following next, the last page of ${title}`];
}

/**
 * A page of profiles, with its totals, against the same SQL through pg and JSON.stringify; and the last page against
 * the first.
 */
export const profiles: Line = {
  key: 'profiles',
  titles: titlesOf,
  async *measure(context) {
    const service = await context.service();
    const [pageTitle, lastPageTitle] = titlesOf(context.size);
    const client = new pg.Client({ connectionString: await context.databaseUrl() });
    await client.connect();
    const sor = await createSor(service);
    const entityId = await fill(client, sor.identifier, CUSTOMERS[context.size]);
    const first = `/api/customer_profiles?num_per_page=${PER_PAGE}&sor_identifiers=${sor.identifier}`;
    const [list, bare] = await medians(
      () => page(service, first),
      () => barePage(client, entityId),
      TURNS,
    );
    await client.end();
    yield atMostTimes(pageTitle, list, bare, 1.3);
    const [second, last] = await ends(service, first);
    const [nearSeconds, farSeconds] = await medians(
      () => page(service, second),
      () => page(service, last),
      TURNS,
    );
    yield atMostTimes(lastPageTitle, farSeconds, nearSeconds, 1.5);
  },
};

/** Each customer has each attribute. Returns the entity. */
async function fill(client: pg.Client, sor: string, customers: number): Promise<number> {
  await client.query('TRUNCATE attribute_values, customers, attribute_change_log');
  const { rows } = await client.query<{ entity_id: number }>(
    'SELECT entity_id FROM systems_of_records WHERE identifier = $1',
    [sor],
  );
  await client.query(
    `INSERT INTO attribute_values (entity_id, sor_id, customer_type, attribute_id, customer_id, changed_at,
       string_value, number_value, boolean_value, date_value, datetime_value)
     SELECT a.entity_id, a.sor_id, 0, a.id, 'customer-' || lpad(n::text, 8, '0'), now(),
       CASE a.value_type WHEN 'String' THEN 'value ' || n % 100003 END, CASE a.value_type WHEN 'Number' THEN n % 1000 / 100.0 END,
       CASE a.value_type WHEN 'Boolean' THEN n % 2 = 0 END, CASE a.value_type WHEN 'Date' THEN date '2001-01-01' + n % 1000 END,
       CASE a.value_type WHEN 'Datetime' THEN timestamptz '2026-01-01' + make_interval(secs => n) END
     FROM systems_of_records s JOIN customer_attributes a ON a.entity_id = s.entity_id AND a.sor_id = s.id,
       generate_series(1, $2::integer) n
     WHERE s.identifier = $1`,
    [sor, customers],
  );
  await client.query(
    'INSERT INTO customers SELECT DISTINCT entity_id, customer_type, customer_id FROM attribute_values',
  );
  await client.query('VACUUM (ANALYZE) attribute_values, customers');
  return rows[0]!.entity_id;
}

type Listed = { result: { profiles: unknown[]; next: string | null } };

async function page({ url, token }: RunningService, path: string): Promise<Listed> {
  const reply = await fetch(url + path, { headers: { authorization: `Token ${token}` } });
  if (!reply.ok) throw new Error(`${path}: ${await reply.text()}`);
  const text = await reply.text();
  if (!text.includes(`"${ATTRIBUTES[0]![0]}":"value `)) throw new Error('a page came without its values');
  return JSON.parse(text.slice(0, text.indexOf('"profiles":')) + '"profiles":[]}}') as Listed;
}

/** Returns the paths of the second page and of the last. */
async function ends(service: RunningService, first: string): Promise<[second: string, last: string]> {
  const path = async (from: string) => (await page(service, from)).result.next?.replace(/^https?:\/\/[^/]+/, '');
  const second = (await path(first))!;
  let last = second;
  for (let next: string | undefined = second; next; next = await path(next)) last = next;
  return [second, last];
}

/** Reads a page as hand-written code would. */
async function barePage(client: pg.Client, entityId: number): Promise<string> {
  const {
    rows: [total],
  } = await client.query('SELECT count(*) FROM customers WHERE entity_id = $1', [entityId]);
  const { rows } = await client.query(
    `SELECT c.customer_id, c.customer_type, s.identifier, a.key,
       v.string_value, v.number_value, v.boolean_value, v.date_value, v.datetime_value
     FROM (SELECT * FROM customers WHERE entity_id = $1 ORDER BY customer_id, customer_type LIMIT ${PER_PAGE}) c
     JOIN attribute_values v ON v.entity_id = c.entity_id AND v.customer_id = c.customer_id AND v.customer_type = c.customer_type
       AND v.sor_id IN (SELECT id FROM systems_of_records WHERE entity_id = $1)
     JOIN systems_of_records s ON s.entity_id = v.entity_id AND s.id = v.sor_id
     JOIN customer_attributes a ON a.entity_id = v.entity_id AND a.id = v.attribute_id`,
    [entityId],
  );
  if (rows.length !== PER_PAGE * ATTRIBUTES.length) throw new Error(`the bare statement gave ${rows.length} rows`);
  return JSON.stringify({ total, rows });
}

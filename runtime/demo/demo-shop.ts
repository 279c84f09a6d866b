import { type Database, openDatabase } from '../../store/core/database.ts';

const SCHEMA = 'demo_shop';
const CUSTOMERS = 500;

/** Another system's table, as a sync finds it: texts where one would like numbers and dates, and names of its own. */
const TABLE = `
  CREATE SCHEMA IF NOT EXISTS ${SCHEMA};
  CREATE TABLE IF NOT EXISTS ${SCHEMA}.customers (
    id integer PRIMARY KEY, mail text, plan_name text, orders_sum text, news text, birthday text, likes text, remarks text
  )`;

/** Whatever an earlier demo changed is as it was. Four of the customers are no good, each for another reason. */
const ROWS = `
  INSERT INTO ${SCHEMA}.customers
  SELECT n, CASE n WHEN 120 THEN NULL ELSE 'shopper-' || n || '@example.com' END,
    (ARRAY['free', 'silver', 'gold'])[1 + n % 3],
    CASE n WHEN 240 THEN 'a lot' ELSE 1 + n % 9 || '.' || lpad((n * 37 % 1000)::text, 3, '0') || ',50' END,
    CASE n WHEN 360 THEN 'perhaps' ELSE (ARRAY['yes', 'no'])[1 + n % 2] END,
    CASE n WHEN 480 THEN '31/02/1990' ELSE to_char(date '1950-01-01' + n * 41, 'DD/MM/YYYY') END,
    (ARRAY['chess, music', 'travel', 'cooking, running, music'])[1 + n % 3], 'nobody else is to see this'
  FROM generate_series(1, ${CUSTOMERS}) n
  ON CONFLICT (id) DO UPDATE SET mail = excluded.mail, plan_name = excluded.plan_name, orders_sum = excluded.orders_sum,
    news = excluded.news, birthday = excluded.birthday, likes = excluded.likes, remarks = excluded.remarks`;

export type DemoShop = {
  /** What a user would set a connection of the connector `postgres` to. */
  settings: object;
  /** Customers, each a row. */
  customers: number;
  /** Two of them change their plan. */
  change(): Promise<void>;
  close(): Promise<void>;
};

/** The database that a demo's shop lies in: the service's own, in a schema of its own. */
export async function openDemoShop(databaseUrl: string): Promise<DemoShop> {
  const db: Database = openDatabase({ url: databaseUrl, max: 1, name: 'millrace-demo' });
  await db.query(TABLE);
  await db.query(ROWS);
  return {
    settings: settingsOf(new URL(databaseUrl)),
    customers: CUSTOMERS,
    async change() {
      await db.query(`UPDATE ${SCHEMA}.customers SET plan_name = 'platinum' WHERE id IN (3, 4)`);
    },
    close: () => db.end(),
  };
}

/** As libpq reads an address: its parts stand in it, and whether it is encrypted among its parameters. */
function settingsOf({ hostname: host, port, pathname, username, password, searchParams }: URL): object {
  return {
    host,
    port: Number(port || 5432),
    database: decodeURIComponent(pathname.slice(1)),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    tls: ['', 'disable', 'allow', 'prefer'].includes(searchParams.get('sslmode') ?? '') ? 'off' : 'on',
    schema: SCHEMA,
  };
}

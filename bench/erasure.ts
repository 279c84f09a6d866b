import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { insertEntity } from '../store/accounts/entities.ts';
import { type Database, openDatabase, write } from '../store/core/database.ts';
import { folderFiles } from '../connectors/file-store/folder-files.ts';
import { DAY_MS } from '../domain/time/durations.ts';
import { migrate } from '../store/core/migrate.ts';
import { openScratch } from '../store/core/scratch.ts';
import { openSecrets, type Secrets } from '../store/core/secrets.ts';
import type { KnownBy, LocationDependencies } from '../store/gdpr/personal-data-location.ts';
import { personalData } from '../store/gdpr/personal-data-registry.ts';
import { ensurePartitions } from '../store/tracking/event-partitions.ts';
import type { Line, Size } from './line.ts';
import { atMostTimes, type Figure, median } from './report.ts';

const ORIGINAL = 'bench_erasure';
const COPY = 'bench_erasure_copy';
const DAYS = 60;
const EVENTS_OF_A_PERSON = 100;

const EVENTS: Record<Size, number> = { quick: 200_000, full: 5_000_000 };
const PEOPLE: Record<Size, number> = { quick: 100, full: 1_000 };

const titleOf = (size: Size) =>
  `erasing ${PEOPLE[size].toLocaleString('en')} people among ${EVENTS[size].toLocaleString('en')} events, and looking again`;

/**
 * People erased at all locations, and looked for again, against one DELETE for each table that knows them. Each side
 * has a copy of the same database.
 */
export const erasure: Line = {
  key: 'erasure',
  titles: (size) => [titleOf(size)],
  async *measure(context) {
    const databaseUrl = await context.databaseUrl();
    const events = EVENTS[context.size];
    const admin = new pg.Client({ connectionString: databaseUrl });
    await admin.connect();
    await admin.query(`CREATE DATABASE ${ORIGINAL}`);
    try {
      const folder = await mkdtemp(join(context.folder, 'erasure-'));
      const files = folderFiles(folder);
      const scratch = await openScratch(join(folder, 'scratch'), { process: 'bench', onError: console.error });
      const secretKey = randomBytes(32);
      const entityId = await onDatabase(databaseUrl, ORIGINAL, (db) =>
        fill(db, (of) => openSecrets(of, files, secretKey), events),
      );
      const people = sample(events, PEOPLE[context.size]);
      const run = (work: (db: Database) => Promise<number>) => onCopy(admin, databaseUrl, work);
      const runs: Figure[] = [];
      for (let round = 0; round < context.rounds; round += 1) {
        const bare = await run((db) => eraseByHand(db, entityId, people));
        runs.push(
          atMostTimes(
            titleOf(context.size),
            await run(async (db) =>
              eraseEverywhere(
                { db, files, outbox: files, scratch, secrets: await openSecrets(db, files, secretKey) },
                entityId,
                people,
              ),
            ),
            bare,
            1.5,
          ),
        );
      }
      yield median(runs);
    } finally {
      await admin.query(`DROP DATABASE ${ORIGINAL} WITH (FORCE)`);
      await admin.end();
    }
  },
};

async function onDatabase<T>(databaseUrl: string, name: string, work: (db: Database) => Promise<T>): Promise<T> {
  const url = new URL(databaseUrl);
  url.pathname = `/${name}`;
  const db = openDatabase({ url: url.href, max: 2 });
  try {
    return await work(db);
  } finally {
    await db.end();
  }
}

/** Returns the seconds of some work on a fresh copy. */
async function onCopy(admin: pg.Client, databaseUrl: string, work: (db: Database) => Promise<number>): Promise<number> {
  await admin.query(`CREATE DATABASE ${COPY} TEMPLATE ${ORIGINAL} STRATEGY file_copy`);
  try {
    return await onDatabase(databaseUrl, COPY, async (db) => {
      await db.query('CHECKPOINT');
      return work(db);
    });
  } finally {
    await admin.query(`DROP DATABASE ${COPY} WITH (FORCE)`);
  }
}

const personOf = (number: number | string) => `lpad(((${number}) * 7919::bigint % 1000003)::text, 12, '0')`;

/**
 * Two months of events in sessions of ten, each person with a device of their own; half of what they do they do by
 * name.
 */
async function fill(db: Database, secretsOf: (db: Database) => Promise<Secrets>, events: number): Promise<number> {
  await migrate(db);
  const secrets = await secretsOf(db);
  const entity = await write(db, (tx) => insertEntity(tx, secrets, 'Bench'));
  const {
    rows: [app],
  } = await db.query<{ id: number }>(
    `INSERT INTO apps (entity_id, identifier, name, package_name, app_type) VALUES ($1, 'app_bench', 'App', 'app', 'Web App') RETURNING id`,
    [entity.id],
  );
  await ensurePartitions(
    db,
    Array.from({ length: DAYS + 2 }, (_, day) => Date.now() - day * DAY_MS),
  );
  const people = events / EVENTS_OF_A_PERSON;
  const number = personOf(`n % ${people}`);
  const whose = `'device-' || ${number} AS device_id, CASE n / ${people} % 2 WHEN 0 THEN 'user-' || ${number} END AS user_id`;
  const many = (rows: number) => `(
    SELECT n, now() - interval '${DAYS} days' * (1 - n / ${rows}.0) AS at, ${whose}
    FROM generate_series(0, ${rows - 1}) n) AS m`;
  const keys = [entity.id, app!.id];
  const tx = await db.connect();
  await tx.query('SET transaction_timeout = 0');
  await tx.query(
    `INSERT INTO events (entity_id, app_id, happened_at, received_at, session_id, log_type, device_id, user_id, name, detail)
     SELECT $1, $2, at, at, n / 10, 2, device_id, user_id, 'Product Viewed',
       jsonb_build_object('product_id', 'p-' || n % 977, 'price', n % 100)
     FROM ${many(events)}`,
    keys,
  );
  await tx.query(
    `INSERT INTO sessions (entity_id, app_id, started_at, ended_at, timeout, subject, device_id, user_id)
     SELECT $1, $2, at, at, 120, 'd' || device_id, device_id, user_id FROM ${many(events / 10)}`,
    keys,
  );
  await tx.query(
    `INSERT INTO locations (entity_id, app_id, happened_at, latitude, longitude, device_id, user_id)
     SELECT $1, $2, at, 48.85, 2.35, device_id, user_id FROM ${many(events / 20)}`,
    keys,
  );
  await tx.query(
    `INSERT INTO session_heads (entity_id, app_id, subject, session_id, started_at, ended_at)
     SELECT $1, $2, 'd' || device_id, n, at, at FROM ${many(people)}`,
    keys,
  );
  await tx.query(
    `INSERT INTO devices (entity_id, app_id, device_id, current_user_id, last_user_id, first_seen_at, last_seen_at)
     SELECT $1, $2, device_id, user_id, user_id, at, at FROM ${many(people)}`,
    keys,
  );
  await tx.query(
    `INSERT INTO device_users (entity_id, app_id, device_id, user_id, last_seen_at)
     SELECT $1, $2, device_id, user_id, at FROM ${many(people)}`,
    keys,
  );
  await tx.query('VACUUM (ANALYZE)');
  tx.release(true);
  return entity.id;
}

type People = { users: string[]; devices: string[] };

function sample(events: number, people: number): People {
  const all = events / EVENTS_OF_A_PERSON;
  const ids = Array.from({ length: people }, (_, index) =>
    String((Math.floor((index * all) / people) * 7_919) % 1_000_003).padStart(12, '0'),
  );
  return { users: ids.map((id) => `user-${id}`), devices: ids.map((id) => `device-${id}`) };
}

async function eraseEverywhere(
  deps: LocationDependencies,
  entityId: number,
  { users, devices }: People,
): Promise<number> {
  const people: KnownBy[] = [
    ...users.map((customerId) => ({ customerType: 'user_id' as const, customerId })),
    ...devices.map((customerId) => ({ customerType: 'device_id' as const, customerId })),
  ];
  const began = performance.now();
  for (const location of personalData) await location.erase?.(deps, entityId, people);
  for (const location of personalData) {
    if ((await location.count(deps, entityId, people)) > 0) throw new Error(`${location.name} still knows somebody`);
  }
  return (performance.now() - began) / 1000;
}

/** Erases as hand-written code would. */
async function eraseByHand(db: Database, entityId: number, { users, devices }: People): Promise<number> {
  const tx = await db.connect();
  await tx.query('SET transaction_timeout = 0');
  const began = performance.now();
  for (const table of ['events', 'sessions', 'locations']) {
    await tx.query(
      `DELETE FROM ${table} WHERE entity_id = $1 AND (user_id = ANY ($2) OR device_id = ANY ($3) AND user_id IS NULL)`,
      [entityId, users, devices],
    );
  }
  await tx.query('DELETE FROM session_heads WHERE entity_id = $1 AND subject = ANY ($2)', [
    entityId,
    devices.map((id) => `d${id}`),
  ]);
  await tx.query('DELETE FROM devices WHERE entity_id = $1 AND device_id = ANY ($2)', [entityId, devices]);
  await tx.query('DELETE FROM device_users WHERE entity_id = $1 AND user_id = ANY ($2)', [entityId, users]);
  const seconds = (performance.now() - began) / 1000;
  tx.release(true);
  return seconds;
}

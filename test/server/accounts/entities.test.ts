import { beforeAll, describe, expect, test } from 'vitest';
import { entityRoutes } from '../../../server/accounts/entities.ts';
import { hashPassword } from '../../../server/accounts/passwords.ts';
import { deleteRowsOfDeletedEntities } from '../../../store/accounts/deleted-entities-across-entities.ts';
import { holdEntity } from '../../../store/accounts/entities.ts';
import { setLabels } from '../../../store/apps/labels.ts';
import { write } from '../../../store/core/database.ts';
import { deleteExporter } from '../../../store/exports/data-exporters.ts';
import { insertExportRun } from '../../../store/exports/export-runs.ts';
import { deleteConnection, insertConnection } from '../../../store/syncs/connections.ts';
import { deleteSync } from '../../../store/syncs/syncs.ts';
import { insertEventDefinitions } from '../../../store/tracking/event-definitions.ts';
import { ensurePartitionsAhead } from '../../../store/tracking/event-partitions.ts';
import { accountPost } from '../../harness/accounts/accounts.ts';
import { fillTablesOf, listTablesOfEntities } from '../../harness/accounts/full-entity.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { lockWaits } from '../../harness/core/lock-waits.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { storedExporter } from '../../harness/exports/stored-exporters.ts';
import { insertSampleCampaign } from '../../harness/sends/campaigns.ts';
import { storedRun, storedSync } from '../../harness/syncs/stored-syncs.ts';
import { ensureSampleMonths, sampleApp, sampleSdkData } from '../../harness/tracking/sdk-samples.ts';
import { insertSampleApps } from '../apps/sample-apps.ts';
import { insertSampleWallet } from '../apps/sample-wallet.ts';
import { insertSampleGdpr } from '../gdpr/sample-gdpr.ts';
import { makeSample } from '../http/samples.ts';
import { type CallOptions, webForm } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';

const PASSWORD = 'a long password';

const API = 'a call of the API deletes it';
const PEOPLE = 'a deletion request erases it, or the retention of the entity';
const TIME = 'Millrace deletes it after a time by itself';
const CANCELED_CAMPAIGN = `UPDATE $table SET status = 'canceled' WHERE entity_id = $1`;
const OWN_SORS = `DELETE FROM $table WHERE entity_id = $1 AND type = 'custom'`;
const CANCELED = `UPDATE $table SET state = 'canceled' WHERE entity_id = $1`;
const DELETED = 'UPDATE $table SET deleted_at = now() WHERE entity_id = $1';

/** Tables whose rows keep an entity from being deleted, with how the rows go. */
const HOW_ROWS_GO: Record<string, string> = {
  sor_api_keys: API,
  attribute_values: API,
  customers: API,
  dry_run_sets: API,
  dry_run_ids: API,
  gdpr_holds: API,
  crashes: PEOPLE,
  device_users: PEOPLE,
  devices: PEOPLE,
  events: PEOPLE,
  locations: PEOPLE,
  session_heads: PEOPLE,
  sessions: PEOPLE,
  user_aliases: PEOPLE,
  attribute_change_log: TIME,
  campaign_audience: TIME,
  campaign_members: TIME,
  feed_requests: TIME,
  file_deletions: TIME,
  file_jobs: TIME,
  gdpr_identifiers: TIME,
  gdpr_left_identifiers: TIME,
  gdpr_mails: TIME,
  gdpr_request_people: TIME,
  gdpr_requests: TIME,
  import_errors: TIME,
  import_lanes: TIME,
  imports: TIME,
  sync_batches: TIME,
  sync_log: TIME,
  sync_pinned_batches: TIME,
  sync_records: TIME,
  sync_requests: TIME,
  sync_runs: TIME,
  connections: DELETED,
  data_exporters: DELETED,
  syncs: DELETED,
  campaigns: CANCELED_CAMPAIGN,
  sends: CANCELED,
  systems_of_records: OWN_SORS,
};

const { store, server, world } = useServer();

/** The world's user is a superadmin. */
beforeAll(async () => {
  await store.db.query('UPDATE users SET superadmin = true, password_hash = $2 WHERE id = $1', [
    world.user.id,
    await hashPassword(PASSWORD),
  ]);
});

const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', path = '', options: CallOptions = {}) =>
  server.call(method, `/api/entities${path}`, { token: world.token, ...options });
const create = async (body: object = {}) => (await call('POST', '', { body: { name: 'Shops', ...body } })).body.result;

async function loginTo(entity: string): Promise<string> {
  const { body } = await server.call('POST', '/api/login', {
    body: { email: world.user.email, password: PASSWORD, entity },
  });
  rememberSecret(body.result.auth_token);
  return body.result.auth_token;
}

describe('an entity', () => {
  test('is created with its global System of Records and its creator as an admin, who then makes its users', async () => {
    const entity = await create({
      description: 'All shops',
      default_tz: 'America/New_York',
      data_retention_in_months: 13,
    });
    expect(entity).toMatchObject({
      name: 'Shops',
      description: 'All shops',
      default_tz: 'America/New_York',
      data_retention_in_months: 13,
      active: true,
      identifier: expect.stringMatching(/^ent_/),
      qa_api_key: expect.any(String),
      prod_api_key: expect.any(String),
    });
    const token = await loginTo(entity.identifier);
    const { body } = await server.call('GET', '/api/system_of_records', { token });
    expect(body.result.map(({ type }: { type: string }) => type)).toEqual(['global']);
    const user = { email: 'clerk@example.com', admin: true, enable: { sor_manage: true } };
    expect((await server.call('POST', '/api/users', { token, body: user })).status).toBe(200);
    expect((await call('GET', `/${entity.id}`)).body.result).toEqual(entity);
    expect((await call('GET')).body.result.items).toContainEqual(entity);
  });

  test('is changed, and takes the defaults where nothing is said', async () => {
    const entity = await create();
    expect(entity).toMatchObject({
      description: '',
      default_tz: 'Europe/Paris',
      data_retention_in_months: 25,
      control_group_percent: 0,
    });
    const { body } = await call('PUT', `/${entity.identifier}`, {
      body: { name: 'Stores', data_retention_in_months: '6' },
    });
    expect(body.result).toEqual({ ...entity, name: 'Stores', data_retention_in_months: 6 });
    const grouped = await call('PUT', `/${entity.identifier}`, { body: { control_group_percent: 50 } });
    expect(grouped.body.result).toEqual({ ...body.result, control_group_percent: 50 });
    expect((await call('GET', `/${entity.identifier}`)).body.result).toEqual(grouped.body.result);
    const token = await loginTo(entity.identifier);
    const { entries } = (await server.call('GET', '/api/audit_log?action=update&subject_kind=entity', { token })).body
      .result;
    expect(entries[0]).toMatchObject({ subject: entity.identifier, details: { changed: 'control_group_percent' } });
  });

  test.each([
    [{ default_tz: 'Europe/Atlantis' }, 'default_tz'],
    [{ default_tz: '+01:00' }, 'default_tz'],
    [{ data_retention_in_months: 0 }, 'data_retention_in_months'],
    [{ data_retention_in_months: 121 }, 'data_retention_in_months'],
    [{ control_group_percent: 51 }, 'control_group_percent'],
    [{ control_group_percent: 2.5 }, 'control_group_percent'],
    [{ name: ' ' }, 'name'],
  ])('is refused with what is wrong named: %j', async (wrong, element) => {
    const { status, body } = await call('POST', '', { body: { name: 'Shops', ...wrong } });
    expect([status, body.messages[0].element]).toEqual([400, element]);
  });

  test('that is not active has its tokens and keys refused', async () => {
    const other = await makeWorld(store);
    const query = `sor_id=${other.sor.identifier}&api_key=${other.apiKey}`;
    const templateOf = () => server.call('GET', `/api/attribute_values/template?${query}`);
    const importInto = () => {
      const file = Buffer.from('user_id,attribute_key,value\n');
      const form = webForm([
        ['sor_id', other.sor.identifier],
        ['api_key', other.apiKey],
        ['file', file],
      ]);
      return server.call('POST', '/api/attribute_values/batch_import', form);
    };
    const statuses = async () => [
      (await server.call('GET', '/api/system_of_records', { token: other.token })).status,
      (await templateOf()).status,
      (await importInto()).status,
    ];
    expect(await statuses()).toEqual([200, 200, 200]);
    expect((await call('PUT', `/${other.entity.identifier}`, { body: { active: false } })).body.result.active).toBe(
      false,
    );
    expect(await statuses()).toEqual([401, 401, 401]);
    expect((await call('PUT', `/${other.entity.identifier}`, { body: { active: true } })).status).toBe(200);
    expect(await statuses()).toEqual([200, 200, 200]);
  });

  test('is deleted only when it is empty, with users who belong to no other', async () => {
    const entity = await create();
    const token = await loginTo(entity.identifier);
    const user = { email: 'only-here@example.com' };
    await server.call('POST', '/api/users', { token, body: user });
    const invitation = await (await accountPost(store)).tokenFor(user.email);
    await server.call('POST', '/api/invitations/accept', { body: { token: invitation, password: PASSWORD } });
    await server.call('POST', '/api/users', { token, body: { email: 'still-invited@example.com' } });
    const sor = (await server.call('POST', '/api/system_of_records', { token, body: { name: 'Shop' } })).body.result;
    const refused = await call('DELETE', `/${entity.identifier}`);
    expect(refused.status).toBe(400);
    expect(refused.body.error_message).toMatch(
      /holds .*systems of records: set active to false instead, or try again where/,
    );
    await store.db.query('DELETE FROM systems_of_records WHERE identifier = $1', [sor.identifier]);
    await store.db.query('DELETE FROM key_lookups WHERE entity_id = $1', [entity.id]);
    expect((await call('DELETE', `/${entity.identifier}`)).body).toEqual({ success: true });
    expect((await call('GET', `/${entity.identifier}`)).body).toMatchObject({
      status: 'not_found',
      error_message: 'Entity not found',
    });
    expect((await server.call('GET', '/api/users', { token })).status).toBe(401);
    expect((await store.db.query('SELECT FROM users WHERE email = $1', [user.email])).rowCount).toBe(0);
    expect((await server.call('GET', '/api/users', { token: world.token })).status).toBe(200);
  });

  test('is deleted by nobody while a value or an import lies in it', async () => {
    const other = await makeWorld(store);
    await store.db.query(
      `INSERT INTO attribute_values (entity_id, sor_id, customer_type, attribute_id, changed_at, customer_id)
       SELECT entity_id, id, 0, 1, now(), 'x' FROM systems_of_records WHERE entity_id = $1 AND type = 'global'`,
      [other.entity.id],
    );
    await store.db.query(`UPDATE systems_of_records SET deleted_at = now() WHERE id = $1`, [other.sor.id]);
    expect((await call('DELETE', `/${other.entity.id}`)).body.error_message).toContain('attribute values');
  });

  test('is not deleted while anything lies in it that an SDK sent', async () => {
    const entity = await create();
    await ensureSampleMonths(store.db);
    await write(store.db, async (tx) => {
      await sampleSdkData(tx, entity.id, {
        appId: await sampleApp(tx, entity.id),
        deviceId: 'd1',
        userId: personId(1),
      });
    });
    const { error_message: refusal } = (await call('DELETE', `/${entity.id}`)).body;
    for (const kind of [
      'crashes',
      'device users',
      'devices',
      'events',
      'locations',
      'session heads',
      'sessions',
      'user aliases',
    ])
      expect(refusal).toMatch(new RegExp(` ${kind}[,:]`));
    expect(refusal).not.toMatch(/events \d/);
  });

  test('is not deleted while a request of people is there; its receipts, which stay, do not keep it', async () => {
    const entity = await create();
    await write(store.db, (tx) => insertSampleGdpr(tx, store.secrets, { ...world, entity }, personId(2)));
    expect((await call('DELETE', `/${entity.id}`)).body.error_message).toMatch(
      /holds gdpr request people, gdpr requests:/,
    );
    await store.db.query('DELETE FROM gdpr_requests WHERE entity_id = $1', [entity.id]);
    expect((await call('DELETE', `/${entity.id}`)).body).toEqual({ success: true });
    expect((await store.db.query('SELECT FROM gdpr_receipts WHERE entity_id = $1', [entity.id])).rowCount).toBe(1);
  });

  test('is deleted with what tells of exporters that are deleted, and not while one is there', async () => {
    const other = await makeWorld(store);
    await store.db.query(`DELETE FROM customer_attributes WHERE entity_id = $1 AND sor_id = $2`, [
      other.entity.id,
      other.sor.id,
    ]);
    await store.db.query('DELETE FROM systems_of_records WHERE entity_id = $1 AND id = $2', [
      other.entity.id,
      other.sor.id,
    ]);
    const exporter = await storedExporter(store.db, store.secrets, other);
    const window = { start: null, end: new Date() };
    await insertExportRun(store.db, other.entity.id, { exporterId: exporter.id, cause: 'request', window });
    expect((await call('DELETE', `/${other.entity.id}`)).body.error_message).toMatch(/holds data exporters:/);
    await deleteExporter(store.db, other.entity.id, exporter.id);
    expect((await call('DELETE', `/${other.entity.id}`)).body).toEqual({ success: true });
  });

  test('with rows in every table is refused with the names of those that keep it, and is deleted with all others', async () => {
    const {
      entity: { id },
    } = await makeSample(store, entityRoutes.at(-1)!);
    await ensurePartitionsAhead(store.db, new Date());
    await fillTablesOf(store.db, id);
    const { error_message: refusal } = (await call('DELETE', `/${id}`)).body;
    const holds = /this one holds (.*): set active to false/
      .exec(refusal)![1]!
      .split(', ')
      .map((name) => name.replaceAll(' ', '_'));
    // A new table needs a line there: nothing keeps an entity for ever.
    expect(new Set(holds)).toEqual(new Set(Object.keys(HOW_ROWS_GO)));
    await write(store.db, async (tx) => {
      for (const [table, how] of Object.entries(HOW_ROWS_GO)) {
        await tx.query(
          how.includes('$table') ? how.replace('$table', table) : `DELETE FROM ${table} WHERE entity_id = $1`,
          [id],
        );
      }
    });
    expect((await call('DELETE', `/${id}`)).body).toEqual({ success: true });
    await deleteRowsOfDeletedEntities(store.db, () => true);
    const left = [];
    for (const { name } of await listTablesOfEntities(store.db)) {
      if ((await store.db.query(`SELECT FROM ${name} WHERE entity_id = $1 LIMIT 1`, [id])).rowCount! > 0)
        left.push(name);
    }
    expect(left).toEqual(['audit_log', 'gdpr_receipts']);
  });

  test('is deleted with its apps and all that was set up beside them, once nothing of people is there', async () => {
    const entity = await create();
    const { appId } = await write(store.db, async (tx) => {
      const sampled = await insertSampleApps(tx, store.secrets, entity.id);
      await insertSampleWallet(tx, entity.id);
      return sampled;
    });
    const {
      rows: [app],
    } = await store.db.query<{ id: number }>('SELECT id FROM apps WHERE identifier = $1', [appId]);
    await store.db.query(
      `INSERT INTO push_certificates
       (entity_id, app_id, identifier, fingerprint, x509_pem, pkey_pem, subject, not_before, not_after)
       VALUES ($1, $2, 'crt_with_entity', '', '', '', '', now(), now())`,
      [entity.id, app!.id],
    );
    await write(store.db, async (tx) => {
      await insertEventDefinitions(tx, entity.id, app!.id, [{ logType: 2, name: 'Opened' }]);
      await setLabels(tx, entity.id, { kind: 'event_definition', id: 1 }, ['checkout']);
      await tx.query('UPDATE apps SET parent_id = $2 WHERE entity_id = $1 AND id <> $2', [entity.id, app!.id]);
      await tx.query(
        `INSERT INTO devices (entity_id, app_id, device_id, first_seen_at, last_seen_at) VALUES ($1, $2, 'd', now(), now())`,
        [entity.id, app!.id],
      );
    });
    // It has sent: the counts of people stay as long as the campaign, which cannot be deleted.
    const campaign = await insertSampleCampaign(store.db, entity.id, app!.id, { type: 'classic', status: 'finished' });
    await store.db.query(
      `INSERT INTO campaign_people (entity_id, campaign_id, person, sent, opened) VALUES ($1, $2, $3, 2, 1)`,
      [entity.id, campaign.id, `u${personId(4)}`],
    );
    expect((await call('DELETE', `/${entity.id}`)).body.error_message).toMatch(/holds devices:/);
    await store.db.query('DELETE FROM devices WHERE entity_id = $1', [entity.id]);
    expect((await call('DELETE', `/${entity.id}`)).body).toEqual({ success: true });
    const tables = [
      'campaigns',
      'campaign_people',
      'apps',
      'app_api_keys',
      'key_lookups',
      'systems_of_records',
      'labels',
      'wallet_texts',
      'push_certificates',
    ];
    for (const table of tables) {
      expect((await store.db.query(`SELECT FROM ${table} WHERE entity_id = $1`, [entity.id])).rowCount).toBe(0);
    }
  });

  test('is not deleted while somebody takes in what an app of it is sent', async () => {
    const entity = await create();
    const appId = await sampleApp(store.db, entity.id);
    const tx = await store.db.connect();
    onFileEnd(async () => tx.release());
    await tx.query('BEGIN');
    expect(await holdEntity(tx, entity.id)).toEqual({ hasErased: false });
    const deletion = call('DELETE', `/${entity.id}`);
    await lockWaits(store);
    await tx.query(
      `INSERT INTO devices (entity_id, app_id, device_id, first_seen_at, last_seen_at) VALUES ($1, $2, 'd', now(), now())`,
      [entity.id, appId],
    );
    await tx.query('COMMIT');
    expect((await deletion).body.error_message).toMatch(/holds devices:/);
  });

  test('is not deleted while it has a connection, and is once that is deleted', async () => {
    const entity = await create();
    const connection = await insertConnection(store.db, store.secrets, entity.id, {
      name: 'Warehouse',
      connector: 'postgres',
      settings: {},
      secretSettings: {},
      createdBy: world.user.id,
    });
    expect((await call('DELETE', `/${entity.id}`)).body.error_message).toMatch(/holds connections/);
    await deleteConnection(store.db, entity.id, connection!.id);
    expect((await call('DELETE', `/${entity.id}`)).body).toEqual({ success: true });
  });

  test('is not deleted while it has a sync or anything left of one, and is once all of it is gone', async () => {
    const entity = await create();
    const sync = await storedSync(store.db, { ...world, entity });
    const run = await storedRun(store.db, sync, { state: 'finished' });
    const refusal = async () => (await call('DELETE', `/${entity.id}`)).body.error_message;
    expect(await refusal()).toMatch(/holds sync runs, syncs:/);
    await deleteSync(store.db, entity.id, sync.id);
    expect(await refusal()).toMatch(/holds sync runs:/);
    await store.db.query('DELETE FROM sync_runs WHERE id = $1', [run.id]);
    expect((await call('DELETE', `/${entity.id}`)).body).toEqual({ success: true });
  });

  test('is neither deleted nor deactivated by a token that acts in it', async () => {
    expect((await call('DELETE', `/${world.entity.identifier}`)).status).toBe(400);
    expect((await call('PUT', `/${world.entity.identifier}`, { body: { active: false } })).status).toBe(400);
  });

  test('has each look at its keys in its own audit log and in that of the reader, by one statement for a list', async () => {
    const made = [await create(), await create()];
    const { body } = await call('GET', '?per_page=100');
    const shown = (body.result.items as { identifier: string }[]).map(({ identifier }) => identifier);
    expect(shown).toEqual(expect.arrayContaining([world.entity, ...made].map(({ identifier }) => identifier)));
    const { rows } = await store.db.query<{ entity_id: number; subject: string; statement: string }>(
      `SELECT entity_id, subject, concat_ws(' ', xmin, cmin) AS statement FROM audit_log
       WHERE action = 'read' AND subject_kind = 'entity' AND details = '{"api_keys": true}'
         AND xmin = (SELECT xmin FROM audit_log WHERE entity_id = $1 AND action = 'read')`,
      [made[1]!.id],
    );
    expect(new Set(rows.map(({ statement }) => statement)).size).toBe(1);
    const logs = (of: { id: number; identifier: string }) =>
      rows.filter(({ subject }) => subject === of.identifier).map(({ entity_id: log }) => log);
    for (const entity of made) expect(new Set(logs(entity))).toEqual(new Set([world.entity.id, entity.id]));
    expect(logs(world.entity)).toEqual([world.entity.id]);
    expect(rows).toHaveLength(2 * shown.length - 1);
  });

  test('has its changes in its own audit log and in that of whoever changed it', async () => {
    const entity = await create();
    await call('PUT', `/${entity.identifier}`, { body: { active: false } });
    await call('DELETE', `/${entity.identifier}`);
    const { rows } = await store.db.query('SELECT entity_id, action FROM audit_log WHERE subject = $1 ORDER BY id', [
      entity.identifier,
    ]);
    const [own, its] = [world.entity.id, entity.id];
    expect(rows.map(({ entity_id: at, action }) => [at, action])).toEqual([
      [own, 'create'],
      [its, 'create'],
      [own, 'update'],
      [its, 'update'],
      [own, 'delete'],
    ]);
  });
});

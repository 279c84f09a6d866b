import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { setTimeout as delay } from 'node:timers/promises';
import { type Client, createClient } from '../../api/client.ts';
import { type Life, LifeEntity } from './life.ts';
import { Draw } from './life-operation.ts';
import type { Outside } from './outside.ts';
import { sources } from './operations/syncs.ts';
import { EXPORT_BUCKET, exporterBody } from './operations/exports.ts';
import { campaignBody } from './operations/sends.ts';
import { ADMIN, type LifeService } from './service.ts';

/**
 * What a walk begins with: two entities with one object of each kind that stays, made over the interface as a user
 * makes them.
 */

const ENTITIES = ['alpha', 'beta'];
const ATTRIBUTES = [
  ['plan', 'String'],
  ['contact', 'String'],
  ['tier', 'String'],
  ['stage', 'String'],
  ['score', 'Number'],
  ['vip', 'Boolean'],
  ['born', 'Date'],
  ['tags', 'Set'],
] as const;

export async function setUpLife(service: LifeService, outside: Outside): Promise<Life> {
  let ordinal = 0;
  const life: Life = { service, outside, entities: [], nextOrdinal: () => (ordinal += 1) };
  await createBucket(service);
  const { auth_token: token } = await createClient({ url: service.url }).login({ body: ADMIN });
  const admin = createClient({ url: service.url, token });
  for (const name of ENTITIES) {
    const { identifier } = await admin.createEntity({ body: { name } });
    life.entities.push(await setUpEntity(service.url, name, identifier));
  }
  for (const entity of life.entities)
    await setUpObjects(createClient({ url: service.url, token: entity.token }), life, entity);
  return life;
}

async function createBucket({ s3: { endpoint, region, ...credentials } }: LifeService): Promise<void> {
  const client = new S3Client({ endpoint, region, forcePathStyle: true, credentials });
  await client.send(new CreateBucketCommand({ Bucket: EXPORT_BUCKET }));
  client.destroy();
}

async function setUpEntity(url: string, name: string, identifier: string): Promise<LifeEntity> {
  const { auth_token: token } = await createClient({ url }).login({ body: { ...ADMIN, entity: identifier } });
  const client = createClient({ url, token });
  const sor = await client.createSystemOfRecord({ body: { name: 'CRM' } });
  const { identifier: app, sor_id: appSor } = await client.createApp({
    body: { name: 'Shop', package_name: `com.example.${name}`, app_type: 'iOS App' },
  });
  const params = { app_identifier: app };
  const { api_key: appKey } = await client.createApiKey({ params, body: {} });
  const { secret } = await client.createUserTokenKey({ params });
  // Texts of the data wallet are in its languages.
  await client.updateWalletLanguages({ params, body: { languages: [{ identifier: 'en' }] } });
  const entity = new LifeEntity({
    name,
    identifier,
    token,
    sor: { identifier: sor.identifier, apiKey: sor.api_keys[0]! },
    app: { identifier: app, apiKey: appKey, tokenKey: secret, sor: appSor },
  });
  entity.add('entity', { id: identifier, isKept: true });
  entity.add('sor', { id: sor.identifier, isKept: true });
  entity.add('app', { id: app, isKept: true });
  const { items: users } = await client.listUsers();
  for (const { uid } of users) entity.add('user', { id: uid, isKept: true });
  for (const [key, valueType] of ATTRIBUTES) {
    const attribute = await client.createCustomerAttribute({
      body: { sor_id: sor.identifier, key, value_type: valueType },
    });
    entity.add('attribute', { id: attribute.identifier, isKept: true });
  }
  return entity;
}

/** With what depends on an event that the app has sent. */
async function setUpObjects(client: Client, life: Life, entity: LifeEntity): Promise<void> {
  const draw = new Draw(() => 0, life, entity);
  const keep = (kind: string, id: string) => entity.add(kind, { id, isKept: true });
  const batch = ['Opened', 'Viewed', 'Bought'].map((event) => ({
    type: 'track',
    event,
    messageId: `first-${event}`,
    anonymousId: 'nobody',
  }));
  await client.sendBatch({ body: { writeKey: entity.app.apiKey, batch } });
  for (const { identifier } of await eventDefinitions(client, entity)) keep('event definition', String(identifier));
  await setUpSyncs(client, draw, keep);
  const exporter = await client.createDataExporter({ body: exporterBody(draw, 'Daily') as never });
  await client.activateDataExporter({ params: { exporter_id: exporter.identifier } });
  keep('exporter', exporter.identifier);
  const { campaign_id: campaign } = await client.createCampaign({ body: campaignBody(draw, 'Order') as never });
  await client.launchCampaign({ params: { campaign_identifier: campaign } });
  keep('transactional', campaign);
  const { identifier: segment } = await client.createSegment({
    body: { name: 'List', app: entity.app.identifier, static: true },
  });
  keep('segment', segment);
  keep('static segment', segment);
}

async function eventDefinitions(client: Client, { app }: LifeEntity) {
  for (;;) {
    const { items } = await client.listEventDefinitions({ params: { app_identifier: app.identifier } });
    if (items.length > 0) return items;
    await delay(100);
  }
}

async function setUpSyncs(
  client: Client,
  { life: { outside }, entity }: Draw,
  keep: (kind: string, id: string) => void,
): Promise<void> {
  const table = `customers_of_${entity.name}`;
  const file = `/people-of-${entity.name}.csv`;
  await outside.sell(table, 'first@example.com', 'none');
  outside.serve(file, 'email,stage\nfirst@example.com,none\n');
  const connect = async (name: string, connector: string, settings: Record<string, unknown>) => {
    const { identifier } = await client.createConnection({ body: { name, connector, settings } });
    keep('connection', identifier);
    return identifier;
  };
  const shop = await connect('Shop', 'postgres', { ...outside.shop, lag_seconds: 0 });
  const files = await connect('Files', 'http-file', { url: `${outside.url}${file}`, format: 'csv' });
  const webhook = await connect('Webhook', 'webhook', {
    url: `${outside.url}/webhook`,
    secret: 'a secret of the walk',
  });
  keep('source', shop);
  const customer = { field: 'email' };
  const alerts = { emails: [], pause_after: null };
  const add = async (name: string, definition: object) => {
    const { identifier } = await client.createSync({ body: { name, alerts, ...definition } as never });
    keep('sync', identifier);
    return identifier;
  };
  const sor = { sor: entity.sor.identifier };
  const tiers = await add('Tiers', {
    source: { connection: shop, stream: table },
    destination: sor,
    mapping: { customer, fields: [{ from: 'tier' }] },
    mode: 'incremental',
    cursor_field: 'changed_at',
  });
  const stages = await add('Stages', {
    source: { connection: files, stream: await streamOf(client, files) },
    destination: sor,
    mapping: { customer, fields: [{ from: 'stage' }] },
  });
  await add('Outgoing', {
    source: { connection: shop, stream: table },
    destination: { connection: webhook, stream: 'people', key: ['email'] },
    mapping: { customer, fields: [{ from: 'email' }, { from: 'tier' }] },
  });
  sources.set(tiers, { attribute: 'tier', table });
  sources.set(stages, { attribute: 'stage', file });
}

async function streamOf(client: Client, connection: string): Promise<string> {
  const { streams } = await client.listStreams({ params: { connection_id: connection }, query: { as: 'source' } });
  return streams![0]!.name;
}

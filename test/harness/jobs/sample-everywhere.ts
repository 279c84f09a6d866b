import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import type { Command } from '../../../connectors/commands/commands-file.ts';
import { openMailer } from '../../../connectors/smtp/mail.ts';
import { insertDryRunIds } from '../../../store/attributes/similar-ids.ts';
import { storedSets } from '../../../store/attributes/stored-sets.ts';
import { write } from '../../../store/core/database.ts';
import { insertRequest, updateReply } from '../../../store/core/idempotent-requests.ts';
import { findImport } from '../../../store/imports/imports.ts';
import { insertPinnedBatch } from '../../../store/syncs/pinned-batches.ts';
import { insertBatch } from '../../../store/syncs/sync-batches.ts';
import { insertRequests } from '../../../store/syncs/sync-requests.ts';
import type { SyncRun } from '../../../store/syncs/sync-run-record.ts';
import { basic, type KeyedSampleApp } from '../../server/tracking/sample-tracking.ts';
import { attributesFilter, insertSampleFunnel, insertSampleSegment } from '../analytics/segments.ts';
import { onFileEnd } from '../core/clean-up.ts';
import { fetchFile } from '../core/fetch-file.ts';
import { httpSource } from '../core/http-source.ts';
import { PERSON_MARK, rememberSecret } from '../core/people.ts';
import type { Stack } from '../core/stack.ts';
import { waitFor } from '../core/wait.ts';
import type { World } from '../core/world.ts';
import { feedDone, postFeed } from '../feed/feeds.ts';
import { importEnded, postImport } from '../imports/imports.ts';
import { insertSampleAudience, insertSampleCampaign, PUSH_PARAMS } from '../sends/campaigns.ts';
import { commandsOf } from '../syncs/sample-records.ts';
import { ask, makeSync, runSync } from '../syncs/syncs.ts';
import type { Sought } from './whole-search.ts';

/**
 * What somebody is known by, and one value of each kind that may be told of them. Each carries the mark, or is a number
 * of theirs.
 */
export type WholePerson = {
  userId: string;
  /** That they had before they signed in. */
  alias: string;
  deviceId: string;
  pushToken: string;
  email: string;
  values: Record<'plan' | 'tag' | 'trait' | 'detail' | 'city' | 'crash' | 'bad', string>;
  /** A score and degrees that nobody else has. */
  numbers: Record<'score' | 'latitude' | 'longitude', number>;
};

export function wholePerson(name: string, number: number): WholePerson {
  const own = (what: string) => `${PERSON_MARK}-${what}-${name}`;
  return {
    userId: `${PERSON_MARK}-${name}@example.com`,
    alias: own('alias'),
    deviceId: own('device'),
    pushToken: own('token'),
    email: `${PERSON_MARK}.${name}@mail.example.com`,
    values: {
      plan: own('plan'),
      tag: own('tag'),
      trait: own('trait'),
      detail: own('detail'),
      city: own('city'),
      crash: own('crash'),
      bad: own('bad'),
    },
    numbers: { score: 41_000 + number + 0.625, latitude: 47 + number / 1e5, longitude: 8 + number / 1e5 },
  };
}

export function soughtOf({ values, numbers, ...known }: WholePerson): Sought {
  const degrees = Object.entries(numbers).map(([name, value]) => [name, String(value)]);
  return { ...known, ...values, ...Object.fromEntries(degrees) };
}

export type Everything = { stack: Stack; world: World; app: KeyedSampleApp };

/** What the worker that runs the samples' syncs has to know. */
export const QUOTING_TAP: [string, Command][] = [
  ...commandsOf({
    quoting: {
      kind: 'singer',
      command: [process.execPath, new URL('../syncs/quoting-tap.ts', import.meta.url).pathname],
    },
  }),
];

/**
 * As an app's SDK tells of them: who they are, what they did and where, an error that quotes them, and a call that is
 * no good.
 */
export async function track(everything: Everything, person: WholePerson, { accepted = 5 } = {}): Promise<void> {
  const { userId, alias, values, email, deviceId } = person;
  const crash = {
    exception_type: `Of.${values.crash}`,
    message: `${userId} has no ${values.crash}`,
    stack: ['Pay.now'],
  };
  await send(
    everything,
    person,
    deviceId,
    [
      { type: 'track', event: 'Opened' },
      { type: 'identify', userId, traits: { email, hobby: values.trait } },
      { type: 'alias', previousId: alias, userId },
      { type: 'track', userId, event: 'Bought', properties: { note: values.detail, price: 9.5 } },
      { type: 'track', userId, event: 'Application Crashed', properties: crash },
      { type: 'track', userId, properties: { note: values.bad } },
    ],
    { accepted },
  );
}

/** The same on a device that is another's, too. */
export function trackOn(everything: Everything, deviceId: string, person: WholePerson): Promise<void> {
  return send(
    everything,
    person,
    deviceId,
    [{ type: 'track', userId: person.userId, event: 'Bought', properties: { note: person.values.detail } }],
    { accepted: 1 },
  );
}

async function send(
  { stack, app }: Everything,
  person: WholePerson,
  deviceId: string,
  calls: object[],
  expected: { accepted: number },
) {
  const context = {
    device: { id: deviceId, token: person.pushToken, model: 'iPhone17,1' },
    os: { name: 'iOS', version: '18.1' },
    locale: 'de-CH',
    location: { city: person.values.city, latitude: person.numbers.latitude, longitude: person.numbers.longitude },
  };
  const batch = calls.map((call) => ({
    ...call,
    messageId: randomUUID(),
    timestamp: new Date().toISOString(),
    context,
  }));
  const payload = JSON.stringify({ batch });
  const reply = await stack.app.inject({ method: 'POST', url: '/v1/batch', headers: basic(app.apiKey), payload });
  const { accepted } = reply.json<{ accepted: number }>();
  if (accepted !== expected.accepted) throw new Error(`the calls went otherwise: ${reply.body}`);
}

const HEADER = 'user_id,attribute_key,value,action_type\n';

/** A file with good rows and bad ones, and a dry run of it. */
export async function importFiles(
  { stack, world }: Everything,
  { userId, values, numbers }: WholePerson,
): Promise<void> {
  const rows = [
    `${userId},plan,${values.plan},`,
    `${userId},tags,${values.tag},ADD`,
    `${userId},score,${numbers.score},`,
    `${userId},vip,${values.bad},`,
    `${userId},nowhere,${values.bad},`,
    `"${userId},plan`,
  ];
  for (const isDryRun of ['false', 'true']) {
    const id = await postImport(stack.app, world, HEADER + rows.join('\n'), {
      fields: { skip_email: 'false', dry_run: isDryRun },
    });
    const { state, rowsOk, rowsFailed } = await importEnded(stack.store, world, id);
    if (rowsOk !== 3 || rowsFailed !== 2)
      throw new Error(`an import went otherwise: ${JSON.stringify({ state, rowsOk, rowsFailed })}`);
  }
}

/** Values by the feed, one of which is no number. */
export async function feed({ stack, world }: Everything, { userId, values }: WholePerson): Promise<void> {
  const given = [
    ['plan', values.plan],
    ['score', values.bad],
  ].map(([key, value]) => ({ customer_id: userId, attribute_key: key, attribute_value: value }));
  await feedDone(stack.store, world, await postFeed(stack.app, world, given));
}

export type SampleSyncs = { ended: SyncRun; outgoing: SyncRun };

/**
 * A sync in, one that fails and pauses, and one out: their source quotes people in its log, its state and its failures.
 */
export async function sync(everything: Everything, people: WholePerson[]): Promise<SampleSyncs> {
  const { stack, world } = everything;
  const [good, failing] = [await tap(everything, 'Good', people), await tap(everything, 'Failing', people)];
  const fields = [{ from: 'plan' }, { from: 'score', as: 'number' }, { from: 'tags', as: 'set', separator: ',' }];
  const incoming = (connection: string) => ({
    source: { connection, stream: 'people' },
    destination: { sor: world.sor.identifier },
    mode: 'incremental',
    cursor_field: 'email',
    mapping: { customer: { field: 'email' }, fields },
    alerts: { pause_after: 1 },
  });
  const into = await makeSync(stack, world, incoming(good.identifier));
  await runSync(stack, world, into, {}, 'dry_run');
  const ended = await runSync(stack, world, into);
  const paused = await makeSync(stack, world, incoming(failing.identifier));
  await writeFile(join(failing.folder, 'failure'), `no plan for ${people.at(-1)!.userId}`);
  await runSync(stack, world, paused);
  const outgoing = await runSync(
    stack,
    world,
    await makeSync(stack, world, {
      source: { connection: good.identifier, stream: 'people' },
      destination: { connection: await webhook(everything), stream: 'people', key: ['email'] },
      mapping: { customer: { field: 'email' }, fields: [{ from: 'email' }, { from: 'plan' }] },
    }),
  );
  for (const [run, failed] of [
    [ended, people.length],
    [outgoing, people.length],
  ] as const) {
    if (run.state !== 'finished' || run.progress.failed !== failed)
      throw new Error(`a sync went otherwise: ${JSON.stringify(run)}`);
  }
  return { ended, outgoing };
}

/** Gives two records of each person, of which one has a bad score. */
async function tap(
  { stack, world }: Everything,
  name: string,
  people: WholePerson[],
): Promise<{ identifier: string; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-quoting-'));
  onFileEnd(() => rm(folder, { recursive: true }));
  const records = people.flatMap(({ userId: email, values: { plan, tag, bad }, numbers }) => [
    { email, plan, score: bad, tags: tag },
    { email, plan, score: String(numbers.score), tags: tag },
  ]);
  await writeFile(join(folder, 'records.jsonl'), records.map((record) => JSON.stringify(record)).join('\n'));
  const { identifier } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name: `${name} ${folder}`,
    connector: 'singer',
    settings: { tap: 'quoting', config: { folder } },
  });
  return { identifier, folder };
}

/** Refuses the last record that it is sent, and quotes it. */
async function webhook({ stack, world }: Everything): Promise<string> {
  const web = await httpSource();
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const { records } = (await json(request)) as { records: { email: string; plan: string }[] };
    const outcomes = records.map(({ email, plan }, nth) =>
      nth % 2 === 0 ? { ok: true } : { ok: false, message: `${email} may not have ${plan}` },
    );
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ outcomes }));
  };
  const url = web.serve('/people', (request, response) => void take(request, response));
  const secret = 'zqwebhooksecret-everywhere';
  rememberSecret(secret);
  const { identifier } = await ask<{ identifier: string }>(stack.app, world, 'POST', '/api/connections', {
    name: 'Webhook',
    connector: 'webhook',
    settings: { url, secret },
  });
  return identifier;
}

/** A file of what they did, as somebody asked for it by their id. */
export async function fileOf({ stack, world, app: { app } }: Everything, { userId }: WholePerson): Promise<void> {
  const path = `/api/apps/${app.identifier}/events_export.csv?skip_email=true&user_ids=${encodeURIComponent(userId)}`;
  const { callback } = await ask<{ callback: string }>(stack.app, world, 'GET', path);
  await fetchFile(stack.app, callback);
}

/**
 * A segment that they are in, as users and as devices, and one whose filters compare with their id, as do a campaign
 * and a funnel.
 */
export async function addToSegments(
  {
    stack: {
      store: { db },
    },
    world,
    app: { app },
  }: Everything,
  people: WholePerson[],
): Promise<void> {
  const members = people.flatMap(({ userId, deviceId }) => [`u${userId}`, `d${deviceId}`]);
  await insertSampleSegment(db, world.entity.id, { appId: app.id, name: 'List', people: members });
  const filters = attributesFilter(
    world.sor.identifier,
    people.map(({ userId }) => userId),
  );
  await insertSampleSegment(db, world.entity.id, { appId: app.id, name: 'Named', filters });
  await insertSampleCampaign(db, world.entity.id, app.id, { type: 'classic', status: 'draft', filters });
  await insertSampleFunnel(
    db,
    world,
    app,
    people.map(({ userId }) => ({ seller: userId })),
  );
}

/** A message to them that was sent, and one of a campaign whose attempts are no longer kept. */
export async function message(
  { stack, world, app: { app } }: Everything,
  { userId, values }: WholePerson,
): Promise<void> {
  const entityId = world.entity.id;
  const campaign = await insertSampleCampaign(stack.store.db, entityId, app.id, {
    params: { ...PUSH_PARAMS, push_message: '*@plan@*' },
  });
  const messages = [{ user: userId, templateVars: { plan: values.plan } }];
  const body = { campaignKey: [campaign.identifier], messages };
  const { requestId } = await ask<{ requestId: string }>(stack.app, world, 'POST', '/api/transac', body);
  await waitFor('the message', async () => {
    const { codes } = await ask<{ codes: Record<string, number> }>(
      stack.app,
      world,
      'GET',
      `/api/transac/${requestId}`,
    );
    return codes.PUSH_SENT !== undefined;
  });
  await stack.store.db.query(
    `INSERT INTO campaign_people (entity_id, campaign_id, person, sent, opened) VALUES ($1, $2, 'u' || $3, 2, 1)`,
    [entityId, campaign.id, userId],
  );
}

/** What work under way holds for seconds, as a kill may leave it behind. No worker runs. */
export async function leaveBehind(
  {
    stack: { app, store },
    world,
    app: {
      app: { id: appId },
    },
  }: Everything,
  { userId, values }: WholePerson,
  { ended, outgoing }: SampleSyncs,
): Promise<void> {
  const entityId = world.entity.id;
  await postFeed(app, world, [{ customer_id: userId, attribute_key: 'plan', attribute_value: values.plan }]);
  const dryRun = await postImport(app, world, `${HEADER}${userId},tags,${values.tag},ADD\n`, {
    fields: { dry_run: 'true' },
  });
  const { id: importId } = (await findImport(store.db, entityId, dryRun))!;
  const record = { email: userId, plan: values.plan };
  const campaign = await insertSampleCampaign(store.db, entityId, appId);
  await ask(app, world, 'POST', '/api/transac', {
    campaignKey: [campaign.identifier],
    messages: [{ user: userId, templateVars: { plan: values.plan } }],
  });
  await insertSampleAudience(store.db, entityId, campaign.id, { userId, deviceId: `device of ${userId}` });
  await writeFile(
    join(await mkdtemp(join(store.scratch.folderOf(entityId), 'command-')), 'state'),
    JSON.stringify({ after: userId }),
  );
  await write(store.db, async (tx) => {
    const set = {
      customerType: 'user_id',
      customerId: userId,
      attributeId: world.attributes.tags!.id,
      operations: [],
    } as const;
    const elements = [{ element: values.tag, since: '2026-01-01T00:00:00Z' }];
    await storedSets(tx, entityId, world.sor.id, importId).save([
      { set: { ...set, operations: [] }, elements, saidAt: null, isSame: false, isStored: false, isNew: true },
    ]);
    await insertDryRunIds(tx, entityId, importId, [{ ...set, operations: [] }]);
    const position = JSON.stringify({ after: userId });
    const items = JSON.stringify([{ kind: 'record', record }]);
    await insertPinnedBatch(tx, entityId, ended.id, { number: 1_000, recordsBefore: 0, position, items });
    const batch = JSON.stringify({ items: [{ source: record, record: null, sent: 0 }], records: [record] });
    const ref = { entityId, runId: outgoing.id, recordsBefore: outgoing.progress.read };
    await insertBatch(tx, ref, { identifier: `${outgoing.identifier}-1000`, batch, records: 1, sent: null });
  });
  const request = { sentAt: new Date(), method: 'GET', path: `/people/${encodeURIComponent(userId)}` };
  await insertRequests(store, entityId, outgoing.id, [{ ...request, status: 200, milliseconds: 1 }]);
}

/** A reply that is kept for a repeat, and a mail, both of which quote somebody. */
export async function quote({ stack: { store }, world }: Everything, { userId, values }: WholePerson): Promise<void> {
  const holder = { keyHash: Buffer.from(randomUUID()), holder: randomUUID() };
  await insertRequest(store.db, world.entity.id, { ...holder, fingerprint: Buffer.from(randomUUID()) });
  const reply = { status: 200, body: JSON.stringify({ result: { user_id: userId } }), identifier: null };
  if (!(await updateReply(store.db, world.entity.id, holder, reply))) throw new Error('the reply was not kept');
  const mailer = openMailer({ outbox: store.outbox, from: 'millrace@example.com' });
  const text = `It says ${userId}, ${values.plan}.\n`;
  await mailer.send({
    messageId: `${randomUUID()}@example.com`,
    to: [world.user.email],
    subject: `About ${userId}`,
    text,
  });
}

import { randomBytes } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { insertAuditEntry } from '../../../store/accounts/audit-log.ts';
import { addPendingCustomers } from '../../../store/attributes/customers.ts';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { insertDryRunIds } from '../../../store/attributes/similar-ids.ts';
import { storedSets } from '../../../store/attributes/stored-sets.ts';
import { type Tx, write } from '../../../store/core/database.ts';
import { asBytes } from '../../../store/core/files.ts';
import { insertFeedRequest } from '../../../store/feed/feed-requests.ts';
import { findOrInsertFileJob } from '../../../store/files/file-jobs.ts';
import type { Person } from '../../../store/gdpr/tombstones.ts';
import { insertImportErrors } from '../../../store/imports/import-errors.ts';
import { insertPinnedBatch } from '../../../store/syncs/pinned-batches.ts';
import { insertBatch } from '../../../store/syncs/sync-batches.ts';
import { insertLogLines } from '../../../store/syncs/sync-log.ts';
import type { Sync } from '../../../store/syncs/sync-record.ts';
import { upsertRecords } from '../../../store/syncs/sync-records.ts';
import { attributesFilter, insertSampleFunnel, insertSampleSegment } from '../analytics/segments.ts';
import type { TestStore } from '../core/database.ts';
import { personId } from '../core/people.ts';
import type { World } from '../core/world.ts';
import { insertSampleCampaign, sampleMessages } from '../sends/campaigns.ts';
import { insertUpload } from '../imports/imports.ts';
import { storedRun, storedSync } from '../syncs/stored-syncs.ts';
import { ensureSampleMonths, sampleApp, sampleSdkData } from '../tracking/sdk-samples.ts';

export type SamplePerson = Person & { deviceId: string; pushToken: string; alias: string };

/** A person that every location knows something about. */
export async function samplePerson(store: TestStore, world: World, number: number): Promise<SamplePerson> {
  const { entity, sor, attributes } = world;
  const person: Person = { customerType: 'user_id', customerId: personId(number * 1_000_000 + entity.id) };
  const { customerId } = person;
  const [deviceId, pushToken] = [`device-${number}-${entity.id}`, `token-${number}-${entity.id}`];
  const customerHash = store.secrets.customerHash(entity.id, 'user_id', customerId);
  const fileKey = `imports/${entity.identifier}-${number}.csv`;
  const lines = `user_id,attribute_key,value\n${customerId},plan,gold\n`;
  await store.files.put(fileKey, Readable.from([Buffer.from(lines)]));
  await ensureSampleMonths(store.db);
  await write(store.db, async (tx) => {
    const key = { ...person, attributeId: attributes.plan!.id };
    await mergeAttributeValues(
      tx,
      store.secrets,
      entity.id,
      sor.id,
      prepareChanges([
        { kind: 'value', line: 1, ...key, valueType: 'String', value: 'gold' },
        { kind: 'set', line: 2, ...key, attributeId: attributes.tags!.id, action: 'ADD', elements: ['a'] },
      ]),
    );
    const job = await insertUpload(tx, store, { entity, sor }, { file: { fileKey, fileBytes: 1, sourceBytes: 1 } });
    await tx.query(`UPDATE imports SET state = 'finished', ended_at = now() WHERE id = $1`, [job.id]);
    const error = {
      errorType: 'INVALID_VALUE',
      outcome: 'failed',
      stage: 'validation',
      message: 'is no number',
      attributeKey: 'score',
      originalLine: null,
      customerHash: null,
    } as const;
    await insertImportErrors(tx, entity.id, job.id, [
      { ...error, line: 2, customerId, raw: `${customerId},score,many` },
      { ...error, line: 3, customerId: null, raw: `a broken line with ${customerId}` },
    ]);
    const operations = [{ line: 4, action: 'ADD', elements: ['a'] }] as const;
    const set = { ...person, attributeId: attributes.tags!.id, operations: [...operations] };
    const elements = [{ element: 'a', since: '2026-01-01T00:00:00Z' }];
    await storedSets(tx, entity.id, sor.id, job.id).save([
      { set, elements, saidAt: null, isSame: false, isStored: false, isNew: true },
    ]);
    await insertDryRunIds(tx, entity.id, job.id, [set]);
    const values = [
      { customer_id: customerId, attribute_key: 'score', attribute_value: 12 },
      { customer_id: `${customerId}0` },
    ];
    await insertFeedRequest(tx, entity.id, { sorId: sor.id, version: 3, valuesIn: 2, body: JSON.stringify(values) });
    await insertAuditEntry(tx, entity.id, {
      actorKind: 'system',
      action: 'read',
      subjectKind: 'customer',
      customerHash,
    });
    await sampleSyncs(tx, world, customerId);
    const sdk = { appId: await sampleApp(tx, entity.id), userId: customerId, deviceId };
    await sampleSdkData(tx, entity.id, sdk);
    await tx.query('UPDATE devices SET push_token = $3 WHERE entity_id = $1 AND device_id = $2', [
      entity.id,
      deviceId,
      pushToken,
    ]);
    await sampleMessages(tx, entity.id, sdk);
    const filters = attributesFilter(sor.identifier, [customerId]);
    await insertSampleSegment(tx, entity.id, { appId: sdk.appId, filters, people: [`u${customerId}`] });
    await insertSampleCampaign(tx, entity.id, sdk.appId, { type: 'classic', filters });
    await insertSampleFunnel(tx, world, { id: sdk.appId, identifier: 'app' }, [{ seller: customerId }]);
    await tx.query('INSERT INTO tombstones (entity_id, customer_hash) VALUES ($1, $2)', [entity.id, customerHash]);
    await sampleRequests(tx, store, world, { customerId, customerHash });
    await sampleFile(tx, store, world, sdk);
  });
  await addPendingCustomers(store.db, entity.id);
  const mail = `Subject: =?utf-8?B?${base64(`Row of ${customerId}`)}?=\n\nIt failed.\n`;
  await store.outbox.put(`${entity.identifier}-${number}.eml`, asBytes(mail));
  await writeFile(
    join(await mkdtemp(join(store.scratch.folderOf(entity.id), 'command-')), 'state'),
    JSON.stringify({ after: customerId }),
  );
  return { ...person, deviceId, pushToken, alias: `old ${customerId}` };
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Requests for access and deletion, a hold, and what is kept of them by keyed hashes. */
async function sampleRequests(
  tx: Tx,
  store: TestStore,
  { entity }: World,
  { customerId, customerHash }: { customerId: string; customerHash: Buffer },
): Promise<void> {
  for (const type of ['access', 'delete']) {
    const identifier = `gdp_${randomBytes(8).toString('hex')}`;
    const key = type === 'access' ? `access/${identifier}/1-abc.zip` : null;
    if (key) await store.files.put(key, asBytes('PK'));
    const {
      rows: [request],
    } = await tx.query<{ id: number }>(
      `INSERT INTO gdpr_requests (entity_id, identifier, request_type, source, requester_kind) VALUES ($1, $2, $3, 'api', 'user')
       RETURNING id`,
      [entity.id, identifier, type],
    );
    await tx.query(
      `INSERT INTO gdpr_request_people (entity_id, request_id, ordinal, user_id, state, archive_key) VALUES ($1, $2, 1, $3, 'treated', $4)`,
      [entity.id, request!.id, customerId, key],
    );
    await tx.query(
      `INSERT INTO gdpr_identifiers (entity_id, request_id, kind, value, ordinal, origin) VALUES ($1, $2, 'user_id', $3, 1, 'asked')`,
      [entity.id, request!.id, customerId],
    );
    await tx.query(
      `INSERT INTO gdpr_left_identifiers (entity_id, request_id, kind, value, ordinal, via, reason)
       VALUES ($1, $2, 'user_id', $3, 2, 'another', 'unconfirmed')`,
      [entity.id, request!.id, customerId],
    );
    await tx.query(
      `INSERT INTO gdpr_receipts (entity_id, identifier, request_identifier, request_type, round, subjects, document)
       VALUES ($1, $2, $2, $3, 1, ARRAY[$4::bytea], '{}')`,
      [entity.id, identifier, type, customerHash],
    );
  }
  const key = `tombstones/${entity.identifier}/${randomBytes(4).toString('hex')}.json`;
  await store.files.put(key, asBytes('{}'));
  await tx.query(
    `INSERT INTO tombstone_batches (entity_id, key, kind, made_at, hashes) VALUES ($1, $2, 'raised', now(), ARRAY[$3::bytea])`,
    [entity.id, key, customerHash],
  );
  await tx.query(
    `INSERT INTO gdpr_holds (entity_id, identifier, customer_type, customer_id, kind, reason)
     VALUES ($1, $2, 'user_id', $3, 'hold', 'A claim')`,
    [entity.id, `hld_${randomBytes(8).toString('hex')}`, customerId],
  );
  await tx.query(
    `INSERT INTO idempotent_requests (entity_id, key_hash, fingerprint, holder, leased_until, http_status, reply)
     VALUES ($1, $2, '', gen_random_uuid(), now(), 200, $3)`,
    [entity.id, randomBytes(16), JSON.stringify({ result: { user_id: customerId } })],
  );
}

/** A finished file that was asked for by the person's id, and has it. */
async function sampleFile(
  tx: Tx,
  store: TestStore,
  { entity, user }: World,
  { userId, deviceId }: { userId: string; deviceId: string },
): Promise<void> {
  const query = {
    filter: { appIds: [1], oneOf: { user_id: [userId] } },
    fields: ['user_id', 'device_id'],
    isGrouped: false,
  };
  const { identifier } = await findOrInsertFileJob(tx, store.secrets, entity.id, {
    kind: 'events',
    format: 'csv',
    query,
    email: null,
    createdBy: user.id,
  });
  const key = `files/${identifier}/0.csv`;
  await store.files.put(key, asBytes(`user_id,device_id\r\n${userId},\r\n,${deviceId}\r\n`));
  await tx.query(
    `UPDATE file_jobs SET state = 'finished', ended_at = now(), first_ended_at = now(),
      file_key = $2 WHERE identifier = $1`,
    [identifier, key],
  );
}

/** A sync into attributes and one to another destination, each of which knows the person. */
async function sampleSyncs(tx: Tx, world: World, customerId: string): Promise<void> {
  const into = await storedSync(tx, world);
  const toOther = await storedSync(tx, world, {
    destination: { connectionId: 2, stream: 'contacts', key: ['id'] },
    mapping: { ...into.mapping, customer: null },
  });
  const toNamed = await storedSync(tx, world, { destination: { connectionId: 2, stream: 'contacts', key: ['id'] } });
  const cursor = JSON.stringify({ email: customerId });
  const run = await storedRun(tx, into, { state: 'finished' });
  const records = (sync: Sync, key: string, named: string | null) =>
    upsertRecords(tx, world.entity.id, { syncId: sync.id, runId: run.id, isSeen: false }, [
      { key, customerId: named, checksum: '00'.repeat(16) },
    ]);
  await records(into, customerId, null);
  await records(toOther, JSON.stringify([customerId]), null);
  await records(toNamed, JSON.stringify([personNumber(customerId)]), customerId);
  const reason = `it failed: ${customerId} is no number`;
  await tx.query('UPDATE syncs SET cursor = $2, paused_reason = $3 WHERE id = $1', [into.id, cursor, reason]);
  await tx.query(
    `UPDATE sync_runs SET cursor_before = $2, position = $2, fault = $3, failure = $3, removal_reason = $3, sample = $4 WHERE id = $1`,
    [
      run.id,
      cursor,
      `the source says ${customerId}`,
      JSON.stringify([{ line: 1, outcome: 'written', customer_id: customerId }]),
    ],
  );
  const batch = JSON.stringify({
    items: [{ source: { email: customerId }, record: null, sent: 0 }],
    records: [{ id: customerId }],
  });
  const ref = { entityId: world.entity.id, runId: run.id, recordsBefore: run.progress.read };
  await insertBatch(tx, ref, { identifier: `${run.identifier}-0`, batch, records: 1, sent: null });
  const items = JSON.stringify([{ kind: 'record', record: { email: customerId } }]);
  await insertPinnedBatch(tx, world.entity.id, run.id, { number: 1, recordsBefore: 0, position: cursor, items });
  const lines = ['reading', `GET /people?after=${encodeURIComponent(customerId)}`, `${customerId} read`];
  await insertLogLines(tx, world.entity.id, run.id, lines);
  await tx.query(
    `INSERT INTO sync_requests (entity_id, run_id, sent_at, method, path, milliseconds) VALUES ($1, $2, now(), 'GET', $3, 1)`,
    [world.entity.id, run.id, `/people/${customerId}`],
  );
}

/** An id that occurs nowhere else. */
function personNumber(customerId: string): number {
  return Number(/\d+/.exec(customerId)![0]);
}

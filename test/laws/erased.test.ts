import { createHmac } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { readSigningKeys, verifyDocument } from '../../domain/core/signed-document.ts';
import { decryptStream } from '../../domain/exports/file-encryption.ts';
import { type GdprReceipt, receiptSchema } from '../../domain/gdpr/gdpr-receipt.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';
import { personalData } from '../../store/gdpr/personal-data-registry.ts';
import { insertTokenKey, signUserToken, type TokenKey } from '../harness/apps/user-tokens.ts';
import { testS3, type TestS3 } from '../harness/core/s3.ts';
import { useStack } from '../harness/core/stack.ts';
import { waitFor } from '../harness/core/wait.ts';
import type { TestWorker } from '../harness/core/workers.ts';
import { makeWorld } from '../harness/core/world.ts';
import { addExporter, DAY, runExport } from '../harness/exports/exports.ts';
import {
  addToSegments,
  type Everything,
  feed,
  fileOf,
  importFiles,
  leaveBehind,
  message,
  quote,
  QUOTING_TAP,
  soughtOf,
  sync,
  track,
  trackOn,
  type WholePerson,
  wholePerson,
} from '../harness/jobs/sample-everywhere.ts';
import { type Finding, searchBytes, searchEverywhere } from '../harness/jobs/whole-search.ts';
import { ask } from '../harness/syncs/syncs.ts';
import { basic, insertKeyedApp } from '../server/tracking/sample-tracking.ts';

/** Who is erased is gone from the database, the files, the outbox, the logs and the running work together. */

const ANA = wholePerson('ana', 1);
const BEN = wholePerson('ben', 2);
const SHARED_DEVICE = 'zqperson-device-of-both';
const BENS_LENT_DEVICE = 'zqperson-device-lent';

const stack = useStack();
const everything = { stack } as Everything;
const exporters: { exporter: DataExporter; encryptionKey: string | null }[] = [];
let s3: TestS3;
let tokenKey: TokenKey;
/** Ana's requests. */
let access: string;
let deletion: string;
/** Ben's, for access. */
let bens: string;
/** Of a device that Ben has lent to Ana: what it asks for is all that it has sent. */
let ofDevice: string;

/** Where something of somebody is found, in all that Millrace keeps. */
const search = (person: WholePerson): Promise<Finding[]> =>
  searchEverywhere(
    {
      db: stack.store.db,
      secrets: stack.store.secrets,
      files: stack.store.files,
      temporal: stack.temporal,
      folders: { logs: { folder: inject('runFolder'), only: new RegExp(stack.namespace) } },
    },
    soughtOf(person),
  );

/** The table or area of files of a finding, as the registry calls it. */
const placeOf = ({ where }: Finding) => /^files: ([^/]+\/)/.exec(where)?.[1] ?? where.replace(/\..*/, '');
const inOrder = (words: Iterable<string>) => [...new Set(words)].toSorted((a, b) => (a < b ? -1 : 1));
const placesOf = (findings: Finding[]) => inOrder(findings.map(placeOf));
const asWords = (findings: Finding[]) => findings.map(({ where, what }) => `${what} in ${where}`);

const api = <T>(method: 'GET' | 'POST' | 'DELETE', url: string, body?: object) =>
  ask<T>(stack.app, everything.world, method, url, body);

/** What is asked for somebody; its identifier. */
async function request(what: 'access' | 'delete', { userId }: WholePerson): Promise<string> {
  const { callback_url: url } = await api<{ callback_url: string }>('POST', `/api/gdpr/${what}_user_data`, {
    users: [userId],
  });
  return new URL(url).searchParams.get('request_id')!;
}

type Status = { state: string; progress: unknown };
const treated = (id: string) =>
  waitFor(`the end of request ${id}`, async () => {
    const { state, progress } = await api<Status>('GET', `/api/gdpr/requests/${id}`);
    return state === 'treated' && { state, progress };
  });

/** What an SDK asks for from a device, for the user for whom the app's server vouches: the request's identifier. */
async function askFromDevice(
  type: 'access' | 'delete',
  { deviceId, userId }: WholePerson,
  vouched?: { userToken?: string },
): Promise<string> {
  const { userToken } = vouched ?? { userToken: await signUserToken(tokenKey, { sub: userId }) };
  const reply = await stack.app.inject({
    method: 'POST',
    url: '/v1/privacy',
    headers: basic(everything.app.apiKey),
    payload: JSON.stringify({ type, deviceId, userToken }),
  });
  return reply.json<{ result: { identifier: string } }>().result.identifier;
}

/** An SDK says that somebody else came before: it may be anybody's. */
async function claimToBe({ userId, deviceId }: WholePerson, other: WholePerson): Promise<void> {
  await stack.app.inject({
    method: 'POST',
    url: '/v1/alias',
    headers: basic(everything.app.apiKey),
    payload: JSON.stringify({ previousId: other.userId, userId, context: { device: { id: deviceId } } }),
  });
}

/** What an exporter has brought into a bucket, plain and encrypted. */
async function exportAll(): Promise<void> {
  const { world, app } = everything;
  for (const table of ['events', 'sessions', 'locations', 'devices', 'attribute_change_log']) {
    await stack.store.db.query(`UPDATE ${table} SET received_at = $2 WHERE entity_id = $1`, [
      world.entity.id,
      DAY.start,
    ]);
  }
  for (const encryptionType of [null, 'AES-256-GCM']) {
    const added = await addExporter(
      stack,
      s3,
      { ...world, app: app.app },
      {
        exportedData: ['logs', 'details', 'devices', 'attributes'],
        sorIds: [world.sor.id],
        encryptionType,
      },
    );
    exporters.push(added);
    expect(await runExport(stack, added)).toMatchObject({ state: 'finished' });
  }
}

beforeAll(async () => {
  s3 = await testS3();
  const world = await makeWorld(stack.store);
  Object.assign(everything, { world, app: await insertKeyedApp(stack.store, world) });
  tokenKey = await insertTokenKey(stack.store, world.entity.id, everything.app.app.id);
  const worker = stack.startWorker({ commands: QUOTING_TAP });
  for (const person of [BEN, ANA]) {
    await track(everything, person);
    await trackOn(everything, SHARED_DEVICE, person);
    await importFiles(everything, person);
    await feed(everything, person);
    await message(everything, person);
  }
  const syncs = await sync(everything, [BEN, ANA]);
  await fileOf(everything, ANA);
  await addToSegments(everything, [BEN, ANA]);
  await exportAll();
  await hold(ANA);
  await claimToBe(BEN, ANA);
  access = await request('access', ANA);
  await treated(access);
  await treated(await askFromDevice('access', ANA));
  bens = await askFromDevice('access', BEN);
  await treated(bens);
  await trackOn(everything, BENS_LENT_DEVICE, BEN);
  await trackOn(everything, BENS_LENT_DEVICE, ANA);
  ofDevice = await askFromDevice('access', { ...BEN, deviceId: BENS_LENT_DEVICE }, {});
  await treated(ofDevice);
  for (const person of [ANA, BEN]) await askFromDevice('delete', person); // these wait for somebody's approval
  await worker.stop();
  await leaveBehind(everything, ANA, syncs);
  await quote(everything, ANA);
  await api('GET', '/api/customer_profiles'); // adds to `customers`, which the sweep would do at some time
});

/** A hold that is released again. */
async function hold({ userId }: WholePerson): Promise<void> {
  const { identifier } = await api<{ identifier: string }>('POST', '/api/gdpr/holds', {
    user_id: userId,
    reason: 'A claim',
  });
  await api('DELETE', `/api/gdpr/holds/${identifier}`);
}

const ERASED_PLACES = personalData.filter(({ erase }) => erase !== null).map(({ name }) => name);
/**
 * Where nobody is found meanwhile: who is on hold is not erased, and what a request gathers is gone once it is treated.
 */
const NOT_MEANWHILE = ['gdpr_holds', 'gdpr_identifiers'];

/** Of the deletion by the interface, and of the one from a device, which waited for somebody's approval. */
const IN_REQUEST = ['deviceId in gdpr_request_people.device_id', 'userId in gdpr_request_people.user_id'];

describe('somebody of whom every place knows something', () => {
  it("is found in each place of the registry, in none beside it, and in each exporter's bucket", async () => {
    expect(placesOf(await search(ANA))).toEqual(inOrder(ERASED_PLACES.filter((name) => !NOT_MEANWHILE.includes(name))));
    for (const { exporter, encryptionKey } of exporters) {
      expect(await isInBucket(exporter, encryptionKey), `exported ${exporter.encryptionType ?? 'as it is'}`).toBe(true);
    }
  });

  it('is not told of in the archive of another, except in that of a device that both used', async () => {
    expect((await search(ANA)).filter(({ where }) => where.startsWith(`files: access/${ofDevice}`))).not.toEqual([]);
    const archives = (await search(ANA)).filter(({ where }) => where.startsWith(`files: access/${bens}`));
    expect(asWords(archives)).toEqual([]);
  });

  it('is erased, which a signed receipt tells, and then found nowhere but in what was asked for', async () => {
    const before = await search(BEN);
    const archive = await archiveUrl();
    stack.startWorker({ commands: QUOTING_TAP });
    await killAtArchive(stack.startWorker());
    deletion = await request('delete', ANA);
    const { progress } = await treated(deletion);
    expect(progress).toMatchObject({ survivors: {}, fault: null });
    expect(inOrder(asWords(await search(ANA)))).toEqual(IN_REQUEST);
    expect((await stack.app.inject({ method: 'GET', url: archive })).statusCode).toBe(404);
    const isOfDevice = (finding: string) => finding.includes(`files: access/${ofDevice}`);
    // The sweep deletes these once their dry run has ended, whenever it comes by.
    const isSwept = (finding: string) => finding.includes('dry_run_ids');
    const lasting = (findings: string[]) => inOrder(findings.filter((finding) => !isSwept(finding)));
    expect(lasting(asWords(await search(BEN)))).toEqual(
      lasting(asWords(before).filter((finding) => !isOfDevice(finding))),
    );
    expect(asWords(before).some(isOfDevice)).toBe(true);
    const {
      rows: [device],
    } = await stack.store.db.query<{ message: string }>(
      'SELECT p.message FROM gdpr_request_people p JOIN gdpr_requests r ON r.id = p.request_id WHERE r.identifier = $1',
      [ofDevice],
    );
    expect(device!.message).toContain('request it again');
    await expectReceipt();
  });

  it('leaves nothing when apps and feeds still tell of them', async () => {
    await track(everything, ANA, { accepted: 0 });
    await feed(everything, ANA);
    expect(inOrder(asWords(await search(ANA)))).toEqual(IN_REQUEST);
  });

  it("is not even there when the request's week is over", async () => {
    await stack.store.db.query(`UPDATE gdpr_requests SET expires_at = now() WHERE state = 'treated'`);
    await waitFor(
      'the end of the week',
      async () =>
        (await stack.store.db.query(`SELECT FROM gdpr_requests WHERE identifier = $1`, [deletion])).rowCount === 0,
    );
    expect(asWords(await search(ANA))).toEqual([]);
  });
});

/** Another worker over the same data folder, killed while it writes an archive of Ana's. */
async function killAtArchive({ pid, kill }: TestWorker): Promise<void> {
  const area = join(stack.store.filesFolder, 'scratch');
  const own = await waitFor("the worker's scratch folder", async () =>
    (await readdir(area)).find((name) => name.startsWith(`${pid}-`)),
  );
  const folder = join(area, own, String(everything.world.entity.id), 'archive-abc');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'events.csv'), `user_id\r\n${ANA.userId}\r\n`);
  await kill();
}

/** Of the archive that Ana got. */
async function archiveUrl(): Promise<string> {
  const status = `/api/gdpr_request/export?request_id=${access}`;
  const { download_urls: urls } = await api<{ download_urls: Record<string, string> }>('GET', status);
  const url = urls[ANA.userId]!;
  expect((await stack.app.inject({ method: 'GET', url })).statusCode).toBe(200);
  return url;
}

async function isInBucket(exporter: DataExporter, key: string | null): Promise<boolean> {
  for (const name of await s3.keys(`${exporter.subfolder}/${exporter.identifier}`)) {
    const bytes = await s3.get(name);
    const isManifest = name.endsWith('.json');
    const content = key === null || isManifest ? bytes : await decrypted(bytes, exporter.encryptionType!, key);
    if ((await searchBytes(content, { userId: ANA.userId })).length > 0) return true;
  }
  return false;
}

const decrypted = (bytes: Buffer, type: string, key: string) =>
  buffer(Readable.from([bytes]).pipe(decryptStream(type, key)));

/**
 * It says that nothing is left, signed by the published key; each exporter's bucket tells by its own key who is to go.
 */
async function expectReceipt(): Promise<void> {
  const {
    receipts: [receipt],
  } = await api<{ receipts: object[] }>('GET', `/api/gdpr/requests/${deletion}/receipt`);
  const { keys } = (await stack.app.inject({ method: 'GET', url: '/.well-known/jwks.json' })).json<{
    keys: object[];
  }>();
  expect(verifyDocument(receipt!, readSigningKeys({ keys })!)).toBe('valid');
  const told = receiptSchema.parse(receipt) as Extract<GdprReceipt, { type: 'erasure' }>;
  expect(told.places.filter(({ survivors }) => survivors > 0)).toEqual([]);
  expect(inOrder(told.places.map(({ place }) => place))).toEqual(inOrder(ERASED_PLACES));
  // Their push token went over to the device that was lent to them.
  expect(told.subjects).toMatchObject([{ identifiers: { user_id: 2, device_id: 1, push_token: 0 } }]);
  expect(await searchBytes(Buffer.from(JSON.stringify(receipt)), soughtOf(ANA))).toEqual([]);
  const lists = told.copies.filter(({ kind }) => kind === 'exporter');
  expect(inOrder(lists.map(({ id, state }) => `${id} ${state}`))).toEqual(
    inOrder(exporters.map(({ exporter }) => `${exporter.identifier} notified`)),
  );
  for (const { id, list } of lists) await expectNamed(id, list!);
}

/** Whoever reads the bucket finds Ana's ids by the key that the exporter's view shows, and nobody else's. */
async function expectNamed(exporterId: string, list: string): Promise<void> {
  const { deletion_key: key } = await api<{ deletion_key: string }>('GET', `/api/data_exporters/${exporterId}`);
  const hmac = (id: string) => createHmac('sha256', Buffer.from(key, 'hex')).update(id).digest('hex');
  const { identifiers } = JSON.parse((await s3.get(list)).toString()) as { identifiers: Record<string, string[]> };
  expect({ user_id: inOrder(identifiers.user_id!), device_id: identifiers.device_id }).toEqual({
    user_id: inOrder([hmac(ANA.userId), hmac(ANA.alias)]),
    device_id: [hmac(ANA.deviceId)],
  });
}

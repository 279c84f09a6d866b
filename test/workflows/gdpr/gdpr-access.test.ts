import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { parser } from 'stream-json';
import { startJob } from '../../../temporal/flows.ts';
import { jobWorkflowId } from '../../../domain/jobs/job.ts';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { write } from '../../../store/core/database.ts';
import { insertHold } from '../../../store/gdpr/holds.ts';
import { listReceipts } from '../../../store/gdpr/receipts.ts';
import { findGdprRequestById, insertGdprRequest, listGdprPeople } from '../../../store/gdpr/requests.ts';
import { insertMany } from '../../harness/core/database.ts';
import { peakMib } from '../../harness/core/memory.ts';
import { personId } from '../../harness/core/people.ts';
import { smtpServer } from '../../harness/core/smtp.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import type { TestWorker } from '../../harness/core/workers.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { accessEnded, csvOf, dataOf, readArchive } from '../../harness/gdpr/archives.ts';
import { askFor } from '../../harness/gdpr/gdpr.ts';
import { sampledSize } from '../../harness/run/seed.ts';
import { ensureSampleMonths, sampleActivity, sampleApp } from '../../harness/tracking/sdk-samples.ts';

const stack = useStack();
/** Events of one person. */
const MANY = sampledSize(300_000, 100_000);
const NOTHING = 'No installations found for this user';
let mails: Awaited<ReturnType<typeof smtpServer>>;
let worker: TestWorker;
let world: World;
let appId: number;
let people = 600;
const newPerson = () => personId((people += 1));

beforeAll(async () => {
  mails = await smtpServer();
  worker = stack.startWorker({ smtpUrl: `smtp://127.0.0.1:${mails.port}`, alone: true });
  await ensureSampleMonths(stack.store.db);
});

beforeEach(async () => {
  world = await makeWorld(stack.store);
  appId = await write(stack.store.db, (tx) => sampleApp(tx, world.entity.id));
});

async function used(userId: string | null, deviceId: string | null): Promise<void> {
  await write(stack.store.db, (tx) => sampleActivity(tx, world.entity.id, { appId, deviceId, userId }));
}

async function valued(customerId: string, score: string, name = 'gold'): Promise<void> {
  const {
    store: { db, secrets },
  } = stack;
  const key = { customerType: 'user_id', customerId } as const;
  await write(db, (tx) =>
    mergeAttributeValues(
      tx,
      secrets,
      world.entity.id,
      world.sor.id,
      prepareChanges([
        { kind: 'value', line: 1, ...key, attributeId: world.attributes.plan!.id, valueType: 'String', value: name },
        { kind: 'value', line: 2, ...key, attributeId: world.attributes.score!.id, valueType: 'Number', value: score },
      ]),
    ),
  );
}

it('each person gets an archive of their own, with all that is known of them and of nobody else', async () => {
  const [ana, ben, nobody] = [newPerson(), newPerson(), newPerson()];
  await used(ana, 'd-ana');
  await used(null, 'd-ana');
  await used(ana, 'd-both');
  await used(ben, 'd-both');
  await used(null, 'd-both');
  await valued(ana, '12345678901234567890.10', `<b>"gold" & co</b>`);
  const request = await askFor(stack, 'access', world, [ana, ben, nobody]);
  const [anas, bens, none] = await accessEnded(stack, request);
  expect(none).toMatchObject({ state: 'treated', archive: null, message: NOTHING });

  const entries = await readArchive(stack, anas!);
  const { data, counts, known_by: known, ...head } = dataOf(entries);
  expect(head).toMatchObject({ version: 1, request: request.identifier, person: 1, company: world.entity.name });
  expect(known).toEqual([
    { kind: 'user_id', id: ana },
    { kind: 'device_id', id: 'd-ana' },
  ]);
  expect(counts).toEqual(Object.fromEntries(Object.entries(data).map(([place, rows]) => [place, rows.length])));
  expect(data.events!.map((row) => [row.device_id, row.user_id])).toEqual([
    ['d-ana', ana],
    ['d-ana', null],
    ['d-both', ana],
  ]);
  expect(data.events![0]).toMatchObject({ app_name: 'App', happened_at: '2026-11-05T10:00:00.000Z' });
  // Ben used it last; what nobody did by name on it may be either's.
  expect(data.devices!.map((row) => [row.device_id, row.last_user_id])).toEqual([['d-ana', ana]]);
  expect(entries['data.json'].toString()).toContain('"number_value":12345678901234567890.10');
  expect(entries['data.json'].toString()).not.toContain(ben);
  const page = entries['index.html'].toString();
  expect(page).toContain('&lt;b&gt;&quot;gold&quot; &amp; co&lt;/b&gt;');
  expect(page).toMatch(/<html lang="en">[^]*What you did[^]*What happened in apps[^]*5 November 2026, 10:00/);
  expect(page).not.toMatch(/<script|<b>|https?:\/\//);
  // The tables have what the JSON has.
  const tables = Object.entries(counts)
    .filter(([, rows]) => rows > 0)
    .map(([place]) => `csv/${place.replace('/', '')}.csv`);
  expect(new Set(Object.keys(entries).filter((name) => name.startsWith('csv/')))).toEqual(
    new Set([...tables, 'csv/fields.csv']),
  );
  expect(
    csvOf(entries, 'events').map(({ happened_at: at, detail }) => [at, detail === '' ? null : JSON.parse(detail!)]),
  ).toEqual(data.events!.map(({ happened_at: at, detail }) => [at, detail]));
  const values = csvOf(entries, 'attribute_values').map(
    ({ string_value: text, number_value: number }) => text || number,
  );
  expect(new Set(values)).toEqual(new Set(['12345678901234567890.10', `<b>"gold" & co</b>`]));
  expect(csvOf(entries, 'fields')).toContainEqual({ file: 'events.csv', column: 'happened_at', meaning: 'When' });
  expect(dataOf(await readArchive(stack, bens!)).data.events!.map((row) => row.user_id)).toEqual([ben]);

  const [receipt] = await listReceipts(stack.store.db, world.entity.id, request.identifier);
  expect(receipt).toMatchObject({
    type: 'access',
    archives: [anas, bens].map((person) => ({
      bytes: person!.archive!.bytes,
      sha256: person!.archive!.sha256.toString('hex'),
    })),
  });
  expect(receipt!.subjects.map(({ identifiers }) => identifiers.user_id)).toEqual([1, 1, 1]);
  expect(receipt!.places).toContainEqual({ place: 'events', shown: 4 });
  const { rows } = await stack.store.db.query('SELECT FROM gdpr_identifiers WHERE entity_id = $1', [world.entity.id]);
  expect(rows).toEqual([]);
});

it("whoever asked is told by mail where each archive is, and nobody's id is in it", async () => {
  const ana = newPerson();
  await used(ana, null);
  const request = await askFor(stack, 'access', world, [ana, newPerson()], { skipEmail: false });
  await accessEnded(stack, request);
  const found = () => mails.received.find(({ mail }) => mail.headers.subject!.includes(request.identifier));
  await waitFor('the mail', async () => found() !== undefined);
  const {
    to,
    mail: { text },
  } = found()!;
  expect(to).toEqual([world.user.email]);
  expect(text).toContain(`2. ${NOTHING}`);
  expect(text).not.toContain(ana);
  const [, link] = /1\. http:\/\/millrace\.test(\/api\/gdpr\/downloads\/\S+)/.exec(text)!;
  const reply = await stack.app.inject({ url: link! });
  expect(reply.statusCode).toBe(200);
});

it('a mail says that a deletion is done; a request that skips the mail sends none', async () => {
  const [ana, ben, cleo] = [newPerson(), newPerson(), newPerson()];
  const told = await askFor(stack, 'delete', world, [ana], { skipEmail: false });
  const quiet = [await askFor(stack, 'access', world, [ben]), await askFor(stack, 'delete', world, [cleo])];
  await Promise.all(
    quiet.map(({ type, identifier }) => stack.temporal.workflow.getHandle(jobWorkflowId(type, identifier)).result()),
  );
  const mailsOf = (identifier: string) =>
    mails.received.filter(({ mail }) => mail.headers.subject!.includes(identifier));
  const { to, mail } = await waitFor('the mail', async () => mailsOf(told.identifier)[0] ?? null);
  expect([to, mail.headers.subject]).toEqual([[world.user.email], `Deletion request ${told.identifier}: treated`]);
  expect(mail.text).not.toContain(ana);
  expect(quiet.flatMap(({ identifier }) => mailsOf(identifier))).toEqual([]);
});

it('somebody on hold, or whose data is restricted, can see it', async () => {
  const {
    store: { db },
  } = stack;
  const ana = newPerson();
  await used(ana, null);
  for (const kind of ['hold', 'restriction'] as const) {
    const hold = {
      customerType: 'user_id',
      customerId: ana,
      kind,
      reason: 'a suit',
      createdBy: world.user.id,
    } as const;
    await write(db, (tx) => insertHold(tx, world.entity.id, hold));
  }
  const [anas] = await accessEnded(stack, await askFor(stack, 'access', world, [ana]));
  expect(dataOf(await readArchive(stack, anas!)).counts).toMatchObject({ events: 1 });
});

it('many events of one person are one archive, within bounded memory', async () => {
  const ana = newPerson();
  await valued(ana, '1');
  await accessEnded(stack, await askFor(stack, 'access', world, [ana]));
  const before = peakMib(worker.pid);
  await insertMany(
    stack.store.db,
    `INSERT INTO events (entity_id, app_id, happened_at, user_id, device_id, log_type, name, detail)
     SELECT $1, $2, timestamptz '2026-11-02T00:00:00Z' + n * interval '1 second', $3, 'd-many', 2, 'Event ' || n % 100,
       jsonb_build_object('price', n, 'text', md5(n::text)) FROM generate_series(1, ${MANY}) n`,
    [world.entity.id, appId, ana],
  );
  const [anas] = await accessEnded(stack, await askFor(stack, 'access', world, [ana]));
  expect(peakMib(worker.pid) - before).toBeLessThan(150);
  const { 'data.json': json, 'index.html': page, 'csv/events.csv': table } = await readArchive(stack, anas!);
  expect(await countEvents(json)).toBe(MANY);
  expect(table!.toString('latin1').split('\n')).toHaveLength(MANY + 2);
  expect(page.toString()).toContain(`${MANY.toLocaleString('en')} entries in all. The first 1,000 are shown here`);
  expect(page.length).toBeLessThan(3 * 1024 ** 2);
});

/** The elements of `data.events`, by a parser that is none of ours. */
async function countEvents(json: Buffer): Promise<number> {
  const tokens = parser.asStream({ streamValues: false });
  let events = 0;
  tokens.on('data', ({ name, value }: { name: string; value?: string }) => {
    if (name === 'keyValue' && value === 'happened_at') events += 1;
  });
  await pipeline(Readable.from([json]), tokens);
  return events;
}

it('the workflow of a request ends when it is mailed; the sweep discards it with its archives when its week is over', async () => {
  const {
    store: { db, files },
  } = stack;
  const ana = newPerson();
  await used(ana, null);
  const request = await askFor(stack, 'access', world, [ana]);
  const [anas] = await accessEnded(stack, request);
  await stack.temporal.workflow.getHandle(jobWorkflowId('access', request.identifier)).result();
  expect(await files.size(anas!.archive!.key)).not.toBeNull();
  await db.query(`UPDATE gdpr_requests SET expires_at = now() - interval '1 second' WHERE id = $1`, [request.id]);
  await waitFor('the request to go', async () => (await findGdprRequestById(db, world.entity.id, request.id)) === null);
  // Its row goes first: the file is deleted after that commit.
  await waitFor('the archive to go', async () => (await files.size(anas!.archive!.key)) === null);
  expect(await listReceipts(db, world.entity.id, request.identifier)).toHaveLength(1);
});

it('of somebody who is erased meanwhile no archive stays', async () => {
  const {
    store: { db, files },
  } = stack;
  const [ana, ben] = [newPerson(), newPerson()];
  await used(ben, null);
  await insertMany(
    stack.store.db,
    `INSERT INTO events (entity_id, app_id, happened_at, user_id, log_type, name)
     SELECT $1, $2, timestamptz '2026-11-02T00:00:00Z' + n * interval '1 second', $3, 2, 'Event' FROM generate_series(1, 100000) n`,
    [world.entity.id, appId, ana],
  );
  const request = await askFor(stack, 'access', world, [ana, ben]);
  const building = async () => (await listGdprPeople(db, world.entity.id, request.id))[0]?.state === 'building';
  await waitFor('the archive to be begun', building);
  await db.query('DELETE FROM gdpr_request_people WHERE entity_id = $1 AND request_id = $2 AND ordinal = 1', [
    world.entity.id,
    request.id,
  ]);
  const [bens] = await accessEnded(stack, request);
  expect(bens!.ordinal).toBe(2);
  const kept = await Array.fromAsync(files.list(`access/${request.identifier}/`), ({ key }) => key);
  expect(kept).toEqual([bens!.archive!.key]);
});

it('requests of made-up devices begin behind those of others, one after the other', async () => {
  const {
    store: { db },
    temporal,
  } = stack;
  const entityId = world.entity.id;
  const madeUp = await Promise.all(
    Array.from({ length: 6 }, (_, device) =>
      insertGdprRequest(db, entityId, {
        type: 'access',
        source: 'sdk',
        appId,
        requester: { kind: 'device', id: null },
        skipEmail: false,
        emails: [],
        state: 'accepted',
        people: [{ userId: null, deviceId: `made up ${device}` }],
      }),
    ),
  );
  await Promise.all(
    madeUp.map(({ id: jobId, identifier }) => startJob(temporal, 'access', { entityId, jobId, identifier })),
  );
  const own = await askFor(stack, 'access', world, [newPerson()]);
  await accessEnded(stack, own);
  const startedAndTreated = async (isUnvouched: boolean) =>
    (
      await db.query<{ state: string; from: Date; until: Date }>(
        `SELECT state, started_at AS from, treated_at AS until FROM gdpr_requests WHERE entity_id = $1 AND is_unvouched = $2
     ORDER BY started_at`,
        [entityId, isUnvouched],
      )
    ).rows;
  await waitFor('all to be treated', async () => {
    const devices = await startedAndTreated(true);
    expect(devices.filter(({ state }) => state === 'running').length).toBeLessThanOrEqual(1);
    return devices.every(({ state }) => state === 'treated');
  });
  const [[others], devices] = [await startedAndTreated(false), await startedAndTreated(true)];
  expect(devices.at(-1)!.from.getTime()).toBeGreaterThanOrEqual(others!.until.getTime());
});

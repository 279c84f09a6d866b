import fc from 'fast-check';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { CUSTOMER_TYPES, customerIdError } from '../../../domain/attributes/customer-id.ts';
import { write } from '../../../store/core/database.ts';
import { personalData } from '../../../store/gdpr/personal-data-registry.ts';
import { namedIn, namesOf } from '../../../store/gdpr/named-in.ts';
import type { Person } from '../../../store/gdpr/tombstones.ts';
import { countErrorsSettled, insertImportErrors } from '../../../store/imports/import-errors.ts';
import { insertPinnedBatch } from '../../../store/syncs/pinned-batches.ts';
import { insertBatch } from '../../../store/syncs/sync-batches.ts';
import { insertRequests, listRequests } from '../../../store/syncs/sync-requests.ts';
import { insertLogLines, listLogLines } from '../../../store/syncs/sync-log.ts';
import type { Sync } from '../../../store/syncs/sync-record.ts';
import { upsertRecords } from '../../../store/syncs/sync-records.ts';
import type { SampleRecord, SyncRun } from '../../../store/syncs/sync-run-record.ts';
import { findRunById } from '../../../store/syncs/sync-runs.ts';
import { findSync, listSyncs } from '../../../store/syncs/syncs.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { sampledRuns } from '../../harness/run/seed.ts';
import { storedRun, storedSync } from '../../harness/syncs/stored-syncs.ts';

let store: TestStore;
let world: World;
let sync: Sync;

beforeAll(async () => {
  store = await testStore();
});

beforeEach(async () => {
  world = await makeWorld(store);
  sync = await storedSync(store.db, world);
});

const [ONE, OTHER] = [personId(71), personId(72)];
const user = (customerId: string): Person => ({ customerType: 'user_id', customerId });
const place = (name: string) => personalData.find((each) => each.name === name)!;
const erase = (name: string, person: Person) => place(name).erase!(store, world.entity.id, [person]);
const count = (name: string, person: Person) => place(name).count(store, world.entity.id, [person]);
const shown = (name: string, person: Person) => Array.fromAsync(place(name).export(store, world.entity.id, [person]));
const set = (run: SyncRun, assignment: string, value: unknown) =>
  store.db.query(`UPDATE sync_runs SET ${assignment} WHERE entity_id = $1 AND id = $2`, [
    world.entity.id,
    run.id,
    value,
  ]);

describe('of somebody who is erased a sync loses', () => {
  const know = ({ id: syncId }: Sync, key: string, customerId: string | null = null) =>
    write(store.db, (tx) =>
      upsertRecords(tx, world.entity.id, { syncId, runId: 1, isSeen: false }, [{ key, customerId, checksum: null }]),
    );

  it('the record of its customer, not that of a device of the same name', async () => {
    const ofDevices = await storedSync(store.db, world, {
      mapping: { ...sync.mapping, customer: { field: 'id', type: 'device_id' } },
    });
    for (const each of [sync, ofDevices]) await know(each, ONE);
    expect(await count('sync_records', user(ONE))).toBe(1);
    expect(await shown('sync_records', { ...user(ONE), customerType: 'device_id' })).toMatchObject([
      { sync: ofDevices.identifier },
    ]);
    expect(await erase('sync_records', user(ONE))).toBe(1);
    expect(await count('sync_records', { ...user(ONE), customerType: 'device_id' })).toBe(1);
  });

  it('records of another destination that name the customer, or whose key is the id', async () => {
    const destination = { connectionId: 2, stream: 'contacts', key: ['id'] };
    const named = await storedSync(store.db, world, { destination });
    const unnamed = await storedSync(store.db, world, { destination, mapping: { ...sync.mapping, customer: null } });
    const id = 'o"ne\\il';
    await know(named, '["17"]', id);
    await know(named, JSON.stringify([id]), OTHER);
    await know(unnamed, JSON.stringify([id, 1]));
    await know(unnamed, JSON.stringify([`${id}s`]));
    expect(await erase('sync_records', user(id))).toBe(3);
    expect(await shown('sync_records', user(`${id}s`))).toEqual([{ within: unnamed.identifier, matches: 1 }]);
  });

  it('the cursor that names them, and none that does not', async () => {
    const other = await storedSync(store.db, world);
    await store.db.query('UPDATE syncs SET cursor = $2 WHERE id = $1', [sync.id, JSON.stringify({ email: ONE })]);
    await store.db.query('UPDATE syncs SET cursor = $2 WHERE id = $1', [other.id, JSON.stringify({ email: OTHER })]);
    expect(await erase('syncs', user(ONE))).toBe(1);
    expect((await findSync(store.db, world.entity.id, sync.identifier))!.cursor).toBeNull();
    expect((await findSync(store.db, world.entity.id, other.identifier))!.cursor).toContain(OTHER);
    expect(await listSyncs(store.db, world.entity.id, { offset: 0, limit: 10 })).toHaveLength(2);
  });

  it('the records that a dry run shows of them, while those of others stay in their order', async () => {
    const run = await storedRun(store.db, sync, { state: 'finished', dryRun: true });
    const record = (line: number, customerId: string): SampleRecord => ({
      line,
      outcome: 'written',
      customer_id: customerId,
      changes: [],
    });
    await set(run, 'sample = $3', JSON.stringify([record(1, OTHER), record(2, ONE), record(3, '2'), record(4, OTHER)]));
    expect(await shown('sync_runs', user('2'))).toEqual([{ within: run.identifier, matches: 1 }]);
    expect(await erase('sync_runs', user(ONE))).toBe(1);
    const { sample } = (await findRunById(store.db, world.entity.id, run.id))!;
    expect(sample!.map(({ line }) => line)).toEqual([1, 3, 4]);
  });

  it('the place and the faults of a run under way, which then would begin at the beginning', async () => {
    const run = await storedRun(store.db, sync, { state: 'running' });
    await set(
      run,
      'is_begun = true, records_read = 7, records_written = 7, cursor_before = $3, position = $3',
      JSON.stringify([ONE]),
    );
    await set(run, 'fault = $3', `the source says that ${ONE} is locked`);
    expect(await erase('sync_runs', user(ONE))).toBe(1);
    const left = (await findRunById(store.db, world.entity.id, run.id))!;
    expect(left).toMatchObject({ state: 'running', isBegun: true, cursorBefore: null, fault: 'erased' });
    expect(left.progress).toMatchObject({ read: 7, written: 7, position: null });
  });

  it('a batch once its run has ended: until then it may have to be sent again', async () => {
    const run = await storedRun(store.db, sync, { state: 'running' });
    const item = (email: string, sent: number) => ({ source: { email, note: 'a\0b' }, record: null, sent });
    const batch = JSON.stringify({ items: [item(OTHER, 0), item(ONE, 1)], records: [{ id: OTHER }, { id: ONE }] });
    const ref = { entityId: world.entity.id, runId: run.id, recordsBefore: run.progress.read };
    await insertBatch(store.db, ref, { identifier: 'batch-0', batch, records: 2, sent: null });
    expect(await shown('sync_batches', user(ONE))).toEqual([{ within: 'batch-0', matches: 1 }]);
    expect([await erase('sync_batches', user(ONE)), await count('sync_batches', user(ONE))]).toEqual([0, 1]);
    await set(run, `state = 'failed', ended_at = $3`, new Date());
    expect([await erase('sync_batches', user(ONE)), await count('sync_batches', user(ONE))]).toEqual([1, 0]);
  });

  it('a pinned batch once its run has ended: until then its records are to be merged', async () => {
    const run = await storedRun(store.db, sync, { state: 'running' });
    const item = (email: string) => ({ kind: 'record', record: { email, note: 'a\0b' } });
    const items = JSON.stringify([item(OTHER), item(ONE)]);
    await insertPinnedBatch(store.db, world.entity.id, run.id, { number: 1, recordsBefore: 0, position: null, items });
    expect(await shown('sync_pinned_batches', user(ONE))).toEqual([{ within: run.identifier, matches: 1 }]);
    expect([await erase('sync_pinned_batches', user(ONE)), await count('sync_pinned_batches', user(ONE))]).toEqual([
      0, 1,
    ]);
    await set(run, `state = 'failed', ended_at = $3`, new Date());
    expect([await erase('sync_pinned_batches', user(ONE)), await count('sync_pinned_batches', user(ONE))]).toEqual([
      1, 0,
    ]);
  });

  it('the lines of a log, also for an id that is what they become', async () => {
    const run = await storedRun(store.db, sync, { state: 'finished' });
    await insertLogLines(store.db, world.entity.id, run.id, [
      'nothing erased yet',
      `1 of ${ONE}`,
      `${ONE}x`,
      `1 of ${OTHER}`,
    ]);
    expect([await erase('sync_log', user(ONE)), await erase('sync_log', user('erased'))]).toEqual([1, 1]);
    const lines = await listLogLines(store.db, world.entity.id, run.id);
    expect(lines.map(({ line }) => line)).toEqual(['erased', 'erased', `${ONE}x`, `1 of ${OTHER}`]);
  });

  it('the paths of requests, which are kept decoded; the last 1,000 of a run stay', async () => {
    const run = await storedRun(store.db, sync, { state: 'finished' });
    const request = { sentAt: new Date(), method: 'GET', status: 200, milliseconds: 3 };
    const paths = [...Array.from({ length: 999 }, () => '/list'), `/people/${encodeURIComponent(ONE)}`];
    for (const some of [['/first', '/second'], paths])
      await insertRequests(
        store,
        world.entity.id,
        run.id,
        some.map((path) => ({ ...request, path })),
      );
    const { rows } = await store.db.query('SELECT requests FROM sync_runs WHERE id = $1', [run.id]);
    expect(rows).toEqual([{ requests: 1_002 }]);
    expect((await listRequests(store.db, world.entity.id, run.id)).length).toBe(1_000);
    expect(await erase('sync_requests', user(ONE))).toBe(1);
    const kept = await listRequests(store.db, world.entity.id, run.id);
    expect([kept[0]!.path, kept.at(-1)!.path, kept.length]).toEqual(['erased', '/list', 1_000]);
  });

  it.each(['o"ne\\il', 'caf\u00e9 7', 'a/b@c'])(
    'errors whose record holds %s in JSON and names no customer',
    async (id) => {
      const run = await storedRun(store.db, sync, { state: 'finished' });
      const error = {
        errorType: 'DELIVERY_FAILED',
        outcome: 'failed',
        stage: 'merge',
        message: 'refused',
        customerId: null,
        attributeKey: null,
        originalLine: null,
        customerHash: null,
      } as const;
      const raws = [
        JSON.stringify({ id }),
        JSON.stringify({ id: `${id}s` }),
        JSON.stringify({ log: JSON.stringify({ id }) }),
        null,
      ];
      const errors = raws.map((raw, index) => ({
        ...error,
        line: index + 1,
        raw,
        message: raw ?? `${id} is there already`,
      }));
      await write(store.db, (tx) => insertImportErrors(tx, world.entity.id, run.id, errors));
      expect(await shown('import_errors', user(id))).toEqual([{ within: run.identifier, matches: 3 }]);
      expect([await erase('import_errors', user(id)), await count('import_errors', user(id))]).toEqual([3, 0]);
      expect(await countErrorsSettled(store.db, world.entity.id, run.id)).toBe(3);
    },
  );
});

describe('an id as a word of its own', () => {
  const id = fc
    .string({
      unit: fc.constantFrom(...Array.from('ab7_ .@/\\"\'%+-[](){}|^$*?&\u00e9\u{1F600}')),
      minLength: 1,
      maxLength: 8,
    })
    .filter((text) => customerIdError(text) === undefined);
  const asAscii = (text: string) =>
    JSON.stringify(text).replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

  async function isNamed(text: string, customerId: string): Promise<boolean> {
    const people = CUSTOMER_TYPES.map((customerType) => ({ customerType, customerId }));
    const { rows } = await store.db.query<{ named: boolean }>(
      `SELECT ${namedIn('$4::text')} AS named WHERE $1::integer > 0`,
      [...namesOf(1, people), text],
    );
    return rows[0]!.named;
  }

  it('is found however it is written', async () => {
    await fc.assert(
      fc.asyncProperty(id, async (customerId) => {
        const texts = [
          customerId,
          `x ${customerId}, y`,
          JSON.stringify([customerId]),
          JSON.stringify({ raw: JSON.stringify([customerId]) }),
          asAscii(customerId),
          JSON.stringify(`1\n${customerId}\t2`),
          `"${customerId.replaceAll('"', '""')}",1`,
          `?a=%3D${encodeURIComponent(customerId)}&b`,
        ];
        for (const text of texts) expect([text, await isNamed(text, customerId)]).toEqual([text, true]);
      }),
      { numRuns: sampledRuns(150) },
    );
  });

  it('is found among many by one pass over a text, as by a look for each', async () => {
    const texts = fc.array(
      fc
        .tuple(
          id,
          fc.constantFrom<(text: string) => string>(
            (text) => text,
            (text) => JSON.stringify({ raw: JSON.stringify([text]) }),
            asAscii,
            (text) => `?a=${encodeURIComponent(text)}&b`,
          ),
        )
        .map(([text, write]) => write(text)),
      { minLength: 1, maxLength: 20 },
    );
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(id, { minLength: 60, maxLength: 90 }), texts, async (ids, lines) => {
        const {
          entity: { id: entityId },
        } = await makeWorld(store);
        await insertLogLines(store.db, entityId, 1, lines);
        const people = ids.map((customerId) => ({ customerType: 'user_id' as const, customerId }));
        const { rowCount } = await store.db.query(
          `SELECT FROM sync_log WHERE entity_id = $1 AND ${namedIn('line')}`,
          namesOf(entityId, people),
        );
        expect(await place('sync_log').count(store, entityId, people)).toBe(rowCount);
      }),
      { numRuns: sampledRuns(40) },
    );
  });

  it('is found once, though thousands are looked for in thousands of texts', async () => {
    const {
      entity: { id: entityId },
    } = await makeWorld(store);
    const email = (number: number) => `${number.toString(36)}.person@example.com`;
    await store.db.query(
      `INSERT INTO import_errors (entity_id, import_id, line, error_type, outcome, stage, message, raw)
       SELECT $1, 1, n, 'PARSING_FAILED', 'failed', 'parsing', 'it is broken',
         'a line of person' || n || '@example.com, with ' || md5(n::text)
       FROM generate_series(1, 20000) n`,
      [entityId],
    );
    await store.db.query(`UPDATE import_errors SET raw = $2 WHERE entity_id = $1 AND line = 777`, [
      entityId,
      `"${email(7_777)}",1`,
    ]);
    const people = Array.from({ length: 5_000 }, (_, number) => user(email(number * 7_777)));
    expect(await place('import_errors').erase!(store, entityId, people)).toBe(1);
  });

  it('is not found within a longer word', async () => {
    const inJson = (text: string) => [text, JSON.stringify([text])];
    await fc.assert(
      fc.asyncProperty(id, fc.constantFrom('q', '\u00e9', '7', '_'), async (customerId, letter) => {
        const longer = `q${customerId}q`;
        for (const text of [`${letter}${longer}`, `${longer}${letter}`].flatMap(inJson)) {
          expect([text, await isNamed(text, longer)]).toEqual([text, false]);
        }
      }),
      { numRuns: sampledRuns(150) },
    );
  });
});

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { JobGone } from '../../../domain/jobs/job.ts';
import { write } from '../../../store/core/database.ts';
import { deleteNotedFiles } from '../../../store/core/file-deletions.ts';
import { asBytes } from '../../../store/core/files.ts';
import {
  type FileJob,
  findOrInsertFileJob,
  finishFile,
  isFileKept,
  lockFileAttempt,
  updateFileKey,
  updateRowsWritten,
} from '../../../store/files/file-jobs.ts';
import { deleteFileJob, findFileJobOfLink, listExpiredFiles } from '../../../store/files/file-jobs-across-entities.ts';
import type { FileKind } from '../../../store/files/file-sources.ts';
import { files } from '../../../store/files/personal-data.ts';
import type { Erasure, KnownBy, LocationDependencies } from '../../../store/gdpr/personal-data-location.ts';
import { claimJob } from '../../../store/jobs/jobs.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';

let store: TestStore;
let world: World;
/** Of files, how many the erasure has counted. */
let counted: number;

const person = personId(660);
const people: KnownBy[] = [{ customerType: 'user_id', customerId: person }];
const tally: LocationDependencies['tally'] = async (_tx, rows) => {
  counted += rows;
};

beforeAll(async () => {
  store = await testStore();
});
beforeEach(async () => {
  world = await makeWorld(store);
  counted = 0;
});

type Begun = { identifier: string; claim: { entityId: number; jobId: number; generation: number }; key: string };

/** A job whose file is being written. */
async function begin(
  what: string,
  format: 'csv' | 'xlsx',
  key?: string,
  asked: { kind: FileKind; query: object } = { kind: 'events', query: { what } },
): Promise<Begun> {
  const { entityId, jobId, identifier } = await write(store.db, (tx) =>
    findOrInsertFileJob(tx, store.secrets, world.entity.id, {
      ...asked,
      format,
      email: null,
      createdBy: world.user.id,
    }),
  );
  return goOn({ entityId, jobId, identifier }, format, key);
}

async function goOn(
  ref: { entityId: number; jobId: number; identifier: string },
  format: string,
  key?: string,
): Promise<Begun> {
  const { generation } = (await claimJob<{ generation: number }>(store.db, 'file', ref, `run ${ref.jobId}`))!;
  const claim = { ...ref, generation };
  const own = key ?? `files/${ref.identifier}/${generation}a.${format}`;
  await write(store.db, (tx) => updateFileKey(tx, claim, own));
  return { identifier: ref.identifier, claim, key: own };
}

async function finish({ claim, key }: Begun, text: string): Promise<void> {
  const { sizeBytes } = await store.files.put(key, asBytes(text));
  await write(store.db, (tx) => finishFile(tx, { entityId: claim.entityId, id: claim.jobId }, sizeBytes, 1));
}

async function finished(what: string, format: 'csv' | 'xlsx', text: string): Promise<Begun> {
  const begun = await begin(what, format);
  await finish(begun, text);
  return begun;
}

const jobOf = async ({ identifier }: Begun): Promise<FileJob> => (await findFileJobOfLink(store.db, identifier))!;
const now = async () =>
  new Date((await store.db.query<{ at: Date }>('SELECT clock_timestamp() AS at')).rows[0]!.at.getTime() + 1);
const erasure = async (more: Partial<Erasure> = {}): Promise<Erasure> => ({
  round: 'gdp_x/1',
  wasInTables: true,
  filesBefore: await now(),
  ...more,
});
const erase = (by: Erasure, deps: Partial<LocationDependencies> = {}) =>
  files.erase!({ ...store, ...deps, erasure: by, tally }, world.entity.id, people);
const count = (by: Erasure) => files.count({ ...store, erasure: by }, world.entity.id, people);

describe('files of an erased person', () => {
  it('that were asked for twice alike become one, to which both links lead', async () => {
    const [first, second] = [await finished('a', 'xlsx', 'x'), await finished('a', 'xlsx', 'x')];
    const third = await begin('a', 'xlsx');
    expect(first.identifier).not.toBe(second.identifier);
    const by = await erasure();
    expect([await erase(by), counted]).toEqual([3, 3]);
    for (const file of [first, second, third])
      expect(await jobOf(file)).toMatchObject({ state: 'accepted', file: null });
    await finish(await goOn(third.claim as never, 'xlsx', `files/${third.identifier}/again.xlsx`), 'new');
    const keys = await Promise.all([first, second, third].map(async (file) => (await jobOf(file)).file?.key));
    expect(keys).toEqual(Array.from({ length: 3 }, () => `files/${third.identifier}/again.xlsx`));
    expect([await count(by), await erase(by), counted]).toEqual([0, 0, 3]);

    // A request now begins another file, which the older ones follow at the next erasure.
    const fourth = await begin('a', 'xlsx');
    await erase(await erasure({ round: 'gdp_y/1' }));
    const states = await Promise.all([first, second, third, fourth].map(async (file) => (await jobOf(file)).state));
    expect(states).toEqual(['accepted', 'accepted', 'accepted', 'accepted']);
    await finish(await goOn(fourth.claim as never, 'xlsx', `files/${fourth.identifier}/again.xlsx`), 'newer');
    for (const file of [first, second, third])
      expect((await jobOf(file)).file?.key).toBe(`files/${fourth.identifier}/again.xlsx`);
  });

  it('begin again as sheets do if their rows tell of people without naming them', async () => {
    const told: [FileKind, object][] = [
      ['event_details', {}],
      ['events', { fields: ['name', 'detail'] }],
      ['sessions', { fields: ['user_id', 'start_date_utc'] }],
      ['devices', { fields: ['device_id', 'last_city'] }],
      ['devices', { fields: ['device_id', 'current_user_id', 'users', 'last_city'] }],
      ['segment_devices', { fields: ['device_id', 'last_user_id', 'last_city'] }],
      ['events', { fields: ['user_id', 'device_id', 'detail'] }],
      ['devices', { fields: ['device_id', 'current_user_id', 'users', 'last_user_id', 'last_city'] }],
    ];
    const begun: Begun[] = [];
    for (const [kind, query] of told) {
      begun.push(await begin('a', 'csv', undefined, { kind, query }));
      await finish(begun.at(-1)!, 'value\r\nof the person\r\n');
    }
    expect([await count(await erasure({ wasInTables: false })), await erase(await erasure())]).toEqual([0, 6]);
    const states = await Promise.all(begun.map(async (file) => (await jobOf(file)).state));
    expect(states).toEqual([...Array.from({ length: 6 }, () => 'accepted'), 'finished', 'finished']);
  });

  it('are neither searched nor counted once they were begun after the tables were erased, and are counted once', async () => {
    const [named, other, sheet] = [
      await finished('a', 'csv', `user_id\r\n${person}\r\n`),
      await finished('b', 'csv', 'user_id\r\nu\r\n'),
      await finished('c', 'xlsx', 'x'),
    ];
    const running = await begin('d', 'csv');
    const by = await erasure();
    expect(await count(by)).toBe(3);
    await erase(by);
    expect(await Promise.all([named, other, sheet, running].map(async (file) => (await jobOf(file)).state))).toEqual([
      'accepted',
      'finished',
      'accepted',
      'accepted',
    ]);
    // What another person's event says of them stands in the file that is built anew.
    await finish(await goOn(named.claim as never, 'csv', `files/${named.identifier}/b.csv`), `detail\r\n${person}\r\n`);
    await finish(await goOn(sheet.claim as never, 'xlsx', `files/${sheet.identifier}/b.xlsx`), 'x');
    await goOn(running.claim as never, 'csv', `files/${running.identifier}/b.csv`);
    expect([await count(by), await erase(by), counted]).toEqual([0, 0, 3]);
    // A table had something of them once more, in the same round.
    await erase({ ...by, filesBefore: await now() });
    expect(counted).toBe(3);
  });

  it('stay where no table had the person, but for those in which the id stands', async () => {
    const [sheet, running, named] = [
      await finished('a', 'xlsx', 'x'),
      await begin('b', 'csv'),
      await finished('c', 'csv', `detail\r\n${person}\r\n`),
    ];
    const by = await erasure({ wasInTables: false });
    expect([await count(by), await erase(by), counted]).toEqual([1, 1, 1]);
    expect(await Promise.all([sheet, running, named].map(async (file) => (await jobOf(file)).state))).toEqual([
      'finished',
      'running',
      'accepted',
    ]);
    await updateRowsWritten(store.db, running.claim, running.key, 7);
  });

  it('keep the end of their seven days, however often they are built anew', async () => {
    const file = await finished('a', 'xlsx', 'x');
    await store.db.query(
      `UPDATE file_jobs SET first_ended_at = now() - interval '6 days 23 hours' WHERE identifier = $1`,
      [file.identifier],
    );
    await erase(await erasure());
    await finish(await goOn(file.claim as never, 'xlsx', `files/${file.identifier}/b.xlsx`), 'x');
    const soon = new Date(Date.now() + 2 * 3_600_000);
    expect([isFileKept(await jobOf(file), new Date()), isFileKept(await jobOf(file), soon)]).toEqual([true, false]);
  });

  it('go after the commit that says so: a kill between leaves a note, by which a repeat deletes them', async () => {
    const file = await finished('a', 'xlsx', 'x');
    const by = await erasure();
    const killed = {
      ...store.files,
      delete: async () => {
        throw new Error('killed');
      },
    };
    await expect(erase(by, { files: killed })).rejects.toThrow('killed');
    expect([(await jobOf(file)).state, await store.files.size(file.key), await count(by)]).toEqual(['accepted', 1, 1]);
    await erase(by);
    expect([await store.files.size(file.key), await count(by), counted]).toEqual([null, 0, 1]);
  });
});

describe('the job of a file', () => {
  it('has a file for each attempt: an older one ends nothing, and what it wrote goes', async () => {
    const first = await begin('a', 'csv');
    await write(store.db, (tx) => updateFileKey(tx, first.claim, `files/${first.identifier}/second.csv`));
    await store.files.put(first.key, asBytes('old'));
    await expect(updateRowsWritten(store.db, first.claim, first.key, 1)).rejects.toThrow(JobGone);
    const lock = (key: string) => write(store.db, (tx) => lockFileAttempt(tx, first.claim, key));
    expect([await lock(first.key), await lock(`files/${first.identifier}/second.csv`)]).toEqual([false, true]);
    await deleteNotedFiles(store, world.entity.id, 'files/');
    expect(await store.files.size(first.key)).toBeNull();
  });

  it('stays past its week as long as another follows it', async () => {
    const file = await finished('a', 'xlsx', 'x');
    const leading = await begin('a', 'xlsx');
    await erase(await erasure());
    await store.db.query(`UPDATE file_jobs SET first_ended_at = now() - interval '8 days' WHERE identifier = $1`, [
      leading.identifier,
    ]);
    const expired = async () =>
      (await listExpiredFiles(store.db)).filter(({ entityId }) => entityId === world.entity.id);
    expect(await expired()).toEqual([]);
    await store.db.query(`UPDATE file_jobs SET first_ended_at = now() - interval '8 days' WHERE identifier = $1`, [
      file.identifier,
    ]);
    for (let left = 2; left > 0; left -= 1) {
      const [job, ...more] = await expired();
      expect(more).toEqual([]);
      await write(store.db, (tx) => deleteFileJob(tx, job!));
    }
  });
});

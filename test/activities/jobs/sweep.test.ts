import { mkdir, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeAll, describe, expect, it } from 'vitest';
import { deleteOrphanedFiles, sweepSteps } from '../../../activities/jobs/sweep.ts';
import { FileStoreAway } from '../../../domain/core/internal-error.ts';
import { findTokenOwner } from '../../../store/accounts/tokens.ts';
import { findAttributeValues } from '../../../store/attributes/attribute-values.ts';
import { deleteCustomerAttribute } from '../../../store/attributes/customer-attributes.ts';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { deleteSor } from '../../../store/attributes/systems-of-records.ts';
import { write } from '../../../store/core/database.ts';
import type { Files } from '../../../store/core/files.ts';
import { insertImportErrors } from '../../../store/imports/import-errors.ts';
import { testStore, type TestStore } from '../../harness/core/database.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { insertUpload } from '../../harness/imports/imports.ts';

let store: TestStore;
let deleteExpired: () => Promise<void>;

beforeAll(async () => {
  store = await testStore();
  const log = { info() {}, warn() {}, error() {} };
  // Deleting needs no Temporal.
  ({ deleteExpired } = sweepSteps(
    {
      ...store,
      log,
      temporal: undefined as never,
      boundary() {},
    },
    () => deleteOrphanedFiles(store.db, store.files),
  ));
});

async function importEndedDaysAgo({ entity, sor }: World, days: number): Promise<{ id: number; fileKey: string }> {
  const fileKey = `imports/${entity.identifier}-${days}.csv`;
  await store.files.put(fileKey, Readable.from([Buffer.from('user_id,attribute_key,value\n')]));
  return write(store.db, async (tx) => {
    const { id } = await insertUpload(
      tx,
      store,
      { entity, sor },
      { file: { fileKey, fileBytes: 28, sourceBytes: 28 } },
    );
    await insertImportErrors(tx, entity.id, id, [
      {
        line: 2,
        errorType: 'EMPTY_VALUE',
        outcome: 'failed',
        stage: 'validation',
        message: 'the value is empty',
        customerId: null,
        attributeKey: null,
        raw: null,
        originalLine: null,
        customerHash: null,
      },
    ]);
    await tx.query(
      `UPDATE imports SET state = 'finished', received_at = now() - make_interval(days => $2), ended_at = now() - make_interval(days => $2)
       WHERE id = $1`,
      [id, days],
    );
    return { id, fileKey };
  });
}

async function count(table: string, condition: string, parameters: unknown[]): Promise<number> {
  const { rows } = await store.db.query<{ rows: number }>(
    `SELECT count(*) AS rows FROM ${table} WHERE ${condition}`,
    parameters,
  );
  return rows[0]!.rows;
}

async function giveValues({ entity, sor, attributes }: World, customerId: string): Promise<void> {
  const key = { customerType: 'user_id', customerId } as const;
  await write(store.db, (tx) =>
    mergeAttributeValues(
      tx,
      store.secrets,
      entity.id,
      sor.id,
      prepareChanges([
        { kind: 'value', line: 1, ...key, attributeId: attributes.plan!.id, valueType: 'String', value: 'gold' },
        { kind: 'value', line: 2, ...key, attributeId: attributes.score!.id, valueType: 'Number', value: '7' },
      ]),
    ),
  );
}

describe('the sweep deletes', () => {
  it('jobs, errors and pinned files of more than a week, and none that are younger', async () => {
    const world = await makeWorld(store);
    const [old, young] = [await importEndedDaysAgo(world, 8), await importEndedDaysAgo(world, 6)];
    await deleteExpired();
    for (const [{ id, fileKey }, left] of [
      [old, 0],
      [young, 1],
    ] as const) {
      expect(await count('imports', 'id = $1', [id])).toBe(left);
      expect(await count('import_errors', 'import_id = $1', [id])).toBe(left);
      expect(await store.files.size(fileKey)).toBe(left === 0 ? null : 28);
    }
  });

  it('uploads that never got their import, once no request can still be about to write it', async () => {
    const { fileKey: known } = await importEndedDaysAgo(await makeWorld(store), 3);
    const age = (key: string, hours: number) => {
      const time = new Date(Date.now() - hours * 3_600_000);
      return utimes(join(store.filesFolder, key), time, time);
    };
    for (const key of ['imports/dead.csv', 'imports/new.csv'])
      await store.files.put(key, Readable.from([Buffer.from('x')]));
    await age('imports/dead.csv', 25);
    await age(known, 70);
    await deleteExpired();
    expect(await store.files.size('imports/dead.csv')).toBeNull();
    expect(await store.files.size('imports/new.csv')).toBe(1);
    expect(await store.files.size(known)).toBe(28);
  });

  it('whatever it can, although one file has a name that is no key, another can not be deleted, and the file store fails', async () => {
    const world = await makeWorld(store);
    await store.db.query(`UPDATE tokens SET expires_at = now() - interval '1 second' WHERE entity_id = $1`, [
      world.entity.id,
    ]);
    const put = async (name: string) => {
      await writeFile(join(store.filesFolder, name), 'x');
      await utimes(join(store.filesFolder, name), 0, 0);
    };
    await mkdir(join(store.filesFolder, 'files'), { recursive: true });
    for (const name of [
      'imports/a.csv',
      'imports/old copy.csv',
      'imports/stuck.csv',
      'imports/z.csv',
      'files/dead.csv',
    ])
      await put(name);
    const stuck = Object.assign(new Error('EPERM'), { code: 'EPERM' });
    const files: Files = {
      ...store.files,
      delete: async (key) => {
        if (key === 'imports/stuck.csv') throw stuck;
        return store.files.delete(key);
      },
      deleteUnfinished: async () => {
        throw new FileStoreAway('away');
      },
    };
    const log = { info() {}, warn() {}, error() {} };
    const steps = sweepSteps({ ...store, files, log, temporal: undefined as never, boundary() {} });
    await expect(steps.deleteExpired()).rejects.toThrow(stuck);
    const left = (await Array.fromAsync(store.files.list('imports/'))).filter(
      ({ modifiedAt }) => modifiedAt.getTime() === 0,
    );
    expect(left.map(({ key }) => key)).toEqual(['imports/stuck.csv']);
    expect(await store.files.size('files/dead.csv')).toBeNull();
    expect(await count('tokens', 'entity_id = $1', [world.entity.id])).toBe(0);
    await store.files.delete('imports/stuck.csv');
  });

  it('the values of a deleted attribute, and no others', async () => {
    const world = await makeWorld(store);
    const person = personId(31);
    await giveValues(world, person);
    await write(store.db, (tx) => deleteCustomerAttribute(tx, world.entity.id, world.attributes.plan!.id));
    await deleteExpired();
    expect(await count('attribute_values', 'customer_id = $1', [person])).toBe(1);
    const [left] = await findAttributeValues(store.db, world.entity.id, world.sor.id, 'user_id', person);
    expect(left).toMatchObject({ key: 'score', value: '7' });
    expect(await count('customer_attributes', 'id = $1', [world.attributes.plan!.id])).toBe(0);
  });

  it('the values of a deleted SoR at once, and the SoR itself when no import tells of it any more', async () => {
    const [world, another] = [await makeWorld(store), await makeWorld(store)];
    const person = personId(32);
    await giveValues(world, person);
    await giveValues(another, person);
    const { id } = await importEndedDaysAgo(world, 1);
    await write(store.db, (tx) => deleteSor(tx, world.entity.id, world.sor.id));
    await deleteExpired();
    expect(await count('attribute_values', 'sor_id = $1', [world.sor.id])).toBe(0);
    expect(await count('attribute_values', 'sor_id = $1', [another.sor.id])).toBe(2);
    expect(await count('systems_of_records', 'id = $1', [world.sor.id])).toBe(1);
    const older = `received_at = now() - interval '8 days', ended_at = now() - interval '8 days'`;
    await store.db.query(`UPDATE imports SET ${older} WHERE id = $1`, [id]);
    await deleteExpired();
    expect(await count('systems_of_records', 'id = $1', [world.sor.id])).toBe(0);
  });

  it('tokens whose life is over', async () => {
    const world = await makeWorld(store);
    await store.db.query(`UPDATE tokens SET expires_at = now() - interval '1 second' WHERE entity_id = $1`, [
      world.entity.id,
    ]);
    expect(await findTokenOwner(store.db, world.token, 1)).toBeNull();
    await deleteExpired();
    expect(await count('tokens', 'entity_id = $1', [world.entity.id])).toBe(0);
  });
});

import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { viewImportProgress } from '../../../server/imports/imports.ts';
import { updateCustomerAttribute } from '../../../store/attributes/customer-attributes.ts';
import { deleteSor } from '../../../store/attributes/systems-of-records.ts';
import { write } from '../../../store/core/database.ts';
import { insertTombstone } from '../../../store/gdpr/tombstones.ts';
import { streamImportErrors } from '../../../store/imports/import-errors.ts';
import { findImport, lockImport } from '../../../store/imports/imports.ts';
import { personId } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { mixedFile } from '../../harness/imports/import-files.ts';
import { importEnded, postImport } from '../../harness/imports/imports.ts';
import { importedValues } from './import-attributes.kill.ts';

const PARSING = 'PARSING_FAILED';
const HEADER = 'user_id,attribute_key,value,action_type';

const stack = useStack();
let world: World;

beforeAll(async () => {
  stack.startWorker();
  stack.startWorker();
});

async function errorsOf(id: string, of = world) {
  const job = await findImport(stack.store.db, of.entity.id, id);
  return Array.fromAsync(streamImportErrors(stack.store.db, of.entity.id, job!.id));
}

async function importLines(...lines: string[]) {
  const id = await postImport(stack.app, world, [HEADER, ...lines].join('\n'));
  return { id, job: await importEnded(stack.store, world, id), errors: await errorsOf(id) };
}

describe('an import', () => {
  beforeAll(async () => {
    world = await makeWorld(stack.store);
    const { id } = world.attributes.vip!;
    await write(stack.store.db, (tx) => updateCustomerAttribute(tx, world.entity.id, id, { disabled: true }));
  });

  it('brings each row into a profile or into the errors, with its line, reason and the row itself', async () => {
    const { job, errors } = await importLines(
      `${personId(1)},plan,gold,`,
      `${personId(1)},score,12.50,UPSERT`,
      `${personId(1)},nothing,1,`,
      `${personId(2)},score,many,`,
      `${personId(2)},tags,a;b;a,ADD`,
    );
    expect(job).toMatchObject({
      state: 'finished',
      rowsIn: 5,
      rowsOk: 3,
      rowsIgnored: 1,
      rowsFailed: 1,
      errorsByType: { UNDEFINED_ATTRIBUTE: 1, INVALID_VALUE: 1 },
    });
    expect(errors).toMatchObject([
      {
        line: 4,
        errorType: 'UNDEFINED_ATTRIBUTE',
        outcome: 'ignored',
        customerId: personId(1),
        attributeKey: 'nothing',
        raw: `${personId(1)},nothing,1,`,
      },
      { line: 5, errorType: 'INVALID_VALUE', outcome: 'failed', customerId: personId(2), attributeKey: 'score' },
    ]);
  });

  it('names every error that a row can have', async () => {
    const long = 'x'.repeat(257);
    const rows: [type: string, row: string][] = [
      ['INVALID_CUSTOMER_ID', ',plan,gold,'],
      ['EMPTY_KEY', `${personId(3)},,gold,`],
      ['TOO_LONG_KEY', `${personId(3)},${long},gold,`],
      ['EMPTY_VALUE', `${personId(3)},plan,,`],
      ['INVALID_VALUE', `${personId(3)},born,2001-02-29,`],
      ['TOO_LONG_VALUE', `${personId(3)},plan,${long},`],
      [
        'TOO_LONG_SET_SIZE',
        `${personId(3)},tags,${Array.from({ length: 1001 }, (_, number) => `e${number}`).join(';')},ADD`,
      ],
      ['UNDEFINED_ATTRIBUTE', `${personId(3)},nothing,1,`],
      ['DISABLED_ATTRIBUTE', `${personId(3)},vip,true,`],
      ['INVALID_ACTION', `${personId(3)},plan,gold,REPLACE`],
      ['PARSING_FAILED', `${personId(3)},plan,gold`],
      ['PARSING_FAILED', `${personId(3)},plan,"go"ld,`],
    ];
    const { job, errors } = await importLines(...rows.map(([, row]) => row), `${personId(3)},plan,silver,`);
    expect(errors.map(({ line, errorType }) => [line, errorType])).toEqual(
      rows.map(([type], index) => [index + 2, type]),
    );
    expect(job).toMatchObject({ rowsIn: 13, rowsOk: 1, rowsIgnored: 1, rowsFailed: 11 });
  });

  it('takes no line of a quoted field over 1 MiB for a row, and goes on behind it', async () => {
    const cell = `"${'x\n'.repeat(530_000)}${personId(4)},plan,injected,\n"`;
    const { job, errors } = await importLines(`${personId(3)},plan,${cell},`, `${personId(5)},plan,gold,`);
    expect(job).toMatchObject({ state: 'finished', rowsIn: 2, rowsOk: 1, rowsFailed: 1 });
    expect(errors.map(({ line, errorType }) => [line, errorType])).toEqual([[2, 'PARSING_FAILED']]);
    expect(JSON.stringify(await importedValues(stack, world))).not.toContain('injected');
    const open = await importLines(
      `${personId(5)},plan,silver,`,
      `${personId(3)},plan,${cell.slice(0, -1)}`,
      `${personId(6)},plan,gold,`,
    );
    expect(open.job).toMatchObject({ state: 'finished', rowsIn: 2, rowsOk: 1, rowsFailed: 1 });
    expect(open.errors).toMatchObject([
      { line: 3, message: expect.stringMatching(/not closed .* to the end of the file was read$/) },
    ]);
    expect(JSON.stringify(await importedValues(stack, world))).not.toContain('injected');
  });

  it('fails as a whole for a wrong header and for an empty file, with one error and no row', async () => {
    const damaged = Buffer.from(gzipSync(`${HEADER}\n${personId(1)},plan,gold,\n`));
    damaged[damaged.length - 5]! ^= 1;
    for (const [file, errorType] of [
      ['', PARSING],
      ['id,key,value\na,b,c\n', PARSING],
      [damaged, 'FILE_TRANSFER_ERROR'],
    ] as const) {
      const id = await postImport(stack.app, world, file);
      const job = await importEnded(stack.store, world, id);
      expect(job).toMatchObject({ state: 'failed', rowsIn: 0, errorsByType: {} });
      await waitFor('the file to go', async () => (await stack.store.files.size(job.file!.fileKey)) === null);
      const [error] = await errorsOf(id);
      expect(error).toMatchObject({ line: 0, errorType });
      const status = await viewImportProgress(stack.store.db, job, new Date());
      const defect = file === damaged ? (expect.stringContaining('checksum') as string) : null;
      expect(status).toMatchObject({ failure: error!.message, defect });
    }
  });

  it('counts the errors of its rows alone by type, and none of the file as a whole, where a gzip file is cut off', async () => {
    const whole = gzipSync([HEADER, `${personId(1)},plan,gold,`, `${personId(2)},plan,gold,`].join('\n'), { level: 0 });
    const id = await postImport(stack.app, world, whole.subarray(0, -10));
    const job = await importEnded(stack.store, world, id);
    expect(job).toMatchObject({
      state: 'finished',
      rowsIn: 2,
      rowsOk: 1,
      rowsFailed: 1,
      errorsByType: { FILE_TRANSFER_ERROR: 1 },
    });
    expect(await errorsOf(id)).toMatchObject([{ line: 0 }, { line: 3, errorType: 'FILE_TRANSFER_ERROR' }]);
    const { defect } = await viewImportProgress(stack.store.db, job, new Date());
    expect(defect).toBe('the gzip file is cut off: its end is missing');
    const trailed = Buffer.concat([gzipSync([HEADER, `${personId(1)},plan,gold,`].join('\n')), Buffer.from('x')]);
    const other = await importEnded(stack.store, world, await postImport(stack.app, world, trailed));
    expect(other).toMatchObject({ state: 'finished', rowsIn: 1, rowsOk: 1 });
    expect((await viewImportProgress(stack.store.db, other, new Date())).defect).toMatch(/bytes that are no gzip/);
  });

  it('brings nobody back who was erased, and tells nothing of them', async () => {
    const erased = personId(4);
    const hash = stack.store.secrets.customerHash(world.entity.id, 'user_id', erased);
    await insertTombstone(stack.store.db, world.entity.id, hash);
    const { job, errors } = await importLines(`${erased},plan,gold,`, `${personId(5)},plan,gold,`);
    expect(job).toMatchObject({ rowsIn: 2, rowsOk: 1, rowsFailed: 1 });
    expect(errors).toMatchObject([
      {
        line: 2,
        errorType: 'INVALID_CUSTOMER_ID',
        message: 'erased',
        customerId: null,
        raw: null,
        customerHash: hash,
        attributeKey: null,
      },
    ]);
  });

  it("keeps nothing of an erased person's bad rows either", async () => {
    const erased = personId(40);
    await insertTombstone(
      stack.store.db,
      world.entity.id,
      stack.store.secrets.customerHash(world.entity.id, 'user_id', erased),
    );
    const { job, errors } = await importLines(
      `${erased},score,many,`,
      `${erased},nothing,secret,`,
      `${erased},plan`,
      `"${erased}",plan,"gold"x,`,
      `${personId(41)},score,many,`,
    );
    expect(job).toMatchObject({ rowsIn: 5, rowsFailed: 5, errorsByType: { INVALID_CUSTOMER_ID: 4, INVALID_VALUE: 1 } });
    for (const error of errors.slice(0, 4))
      expect(error).toMatchObject({ message: 'erased', customerId: null, raw: null });
  });

  it('names the customer and the key where only the merge could refuse a row', async () => {
    const full = Array.from({ length: 1000 }, (_, index) => `e${index}`).join(';');
    const { errors } = await importLines(`${personId(42)},tags,${full},`, `${personId(42)},tags,one more,ADD`);
    expect(errors).toMatchObject([
      { errorType: 'TOO_LONG_SET_SIZE', customerId: personId(42), attributeKey: 'tags', line: 3 },
    ]);
  });

  it('merges many Sets in several transactions, so that none lasts too long', async () => {
    const people = Array.from({ length: 4_000 }, (_, index) => personId(50_000 + index));
    const { job } = await importLines(...people.map((who) => `${who},tags,a;b,ADD`));
    expect(job).toMatchObject({ rowsIn: 4_000, rowsOk: 4_000 });
    const { rows } = await stack.store.db.query<{ sets: number }>(
      `SELECT count(*) AS sets FROM attribute_values WHERE entity_id = $1 AND customer_id = ANY ($2) GROUP BY xmin`,
      [world.entity.id, people],
    );
    for (const { sets } of rows) expect(sets).toBeLessThan(3_000);
    expect(rows.length).toBeGreaterThan(2);
  });

  it('leaves the rows of a SoR that was deleted on the way to EMPTY_SOR', async () => {
    const doomed = await makeWorld(stack.store);
    const id = await postImport(stack.app, doomed, mixedFile(20_000, 500));
    await waitFor('some rows', async () => (await findImport(stack.store.db, doomed.entity.id, id))!.rowsIn > 0);
    await write(stack.store.db, (tx) => deleteSor(tx, doomed.entity.id, doomed.sor.id));
    const job = await importEnded(stack.store, doomed, id);
    expect(job.rowsIn).toBe(20_000);
    expect(job.errorsByType.EMPTY_SOR).toBeGreaterThan(0);
    expect(job.rowsOk + job.rowsIgnored + job.rowsFailed).toBe(20_000);
  });
});

describe('imports at once', () => {
  it('into one SoR end with exact counts, and every element of both', async () => {
    const shared = await makeWorld(stack.store);
    const file = (tag: string) =>
      [
        HEADER,
        ...Array.from({ length: 6_000 }, (_, row) =>
          row % 2 === 0 ? `${personId(row % 400)},plan,${tag},` : `${personId(row % 401)},tags,${tag},ADD`,
        ),
      ].join('\n');
    const ids = await Promise.all(['left', 'right'].map((tag) => postImport(stack.app, shared, file(tag))));
    for (const id of ids) {
      expect(await importEnded(stack.store, shared, id)).toMatchObject({
        state: 'finished',
        rowsIn: 6_000,
        rowsOk: 6_000,
      });
    }
    const values = (await importedValues(stack, shared)) as {
      key: string;
      string_value: string;
      set_elements: string[];
    }[];
    for (const { key, string_value: plan, set_elements: tags } of values) {
      if (key === 'plan') expect(['left', 'right']).toContain(plan);
      else expect(tags.toSorted()).toEqual(['left', 'right']);
    }
  });
});

describe('a step whose run was given up', () => {
  it('commits nothing more', async () => {
    const lost = await makeWorld(stack.store);
    const id = await postImport(stack.app, lost, mixedFile(20_000, 500));
    const { db } = stack.store;
    const running = await waitFor('some rows', async () => {
      const job = await findImport(db, lost.entity.id, id);
      return job!.rowsIn > 0 && job;
    });
    await db.query(
      `UPDATE imports SET generation = generation + 1, state = 'accepted', workflow_run_id = NULL WHERE entity_id = $1 AND id = $2`,
      [lost.entity.id, running.id],
    );
    expect(await write(db, (tx) => lockImport(tx, lost.entity.id, running.id, running.generation))).toBeNull();
    // The old run ends without effect, and the sweep starts one of the new generation.
    const job = await importEnded(stack.store, lost, id);
    expect(job).toMatchObject({ state: 'finished', rowsIn: 20_000, generation: running.generation + 1 });
    expect(job.rowsOk + job.rowsIgnored + job.rowsFailed).toBe(20_000);
  });
});

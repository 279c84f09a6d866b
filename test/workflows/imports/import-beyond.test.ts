import { beforeAll, describe, expect, it } from 'vitest';
import { insertCustomerAttribute } from '../../../store/attributes/customer-attributes.ts';
import { write } from '../../../store/core/database.ts';
import { deleteNotedFiles } from '../../../store/core/file-deletions.ts';
import { findImport, type Import } from '../../../store/imports/imports.ts';
import { personId } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { mixedFile } from '../../harness/imports/import-files.ts';
import { importEnded, importErrors, postImport } from '../../harness/imports/imports.ts';
import { importedValues } from './import-attributes.kill.ts';

const HEADER = 'user_id,attribute_key,value,action_type\n';
const stack = useStack();

beforeAll(() => {
  stack.startWorker();
});

async function imported(world: World, file: string, fields: Record<string, string> = {}): Promise<Import> {
  return importEnded(stack.store, world, await postImport(stack.app, world, file, { fields }));
}

/** What an import told, without what differs from one to the next. */
async function reportOf(world: World, job: Import) {
  const { state, rowsIn, rowsOk, rowsIgnored, rowsFailed, errorsByType } = job;
  const errors = await importErrors(stack.store, world, job);
  return {
    counts: { state, rowsIn, rowsOk, rowsIgnored, rowsFailed, errorsByType },
    errors: errors.map(({ happenedAt: _, ...error }) => error),
  };
}

async function call(world: World, method: 'GET' | 'POST', path: string) {
  const reply = await stack.app.inject({
    method,
    url: `/api/attribute_values/${path}`,
    headers: { authorization: `Token ${world.token}`, accept: 'application/vnd.svc.v3' },
  });
  return {
    status: reply.statusCode,
    text: reply.body,
    result: reply.headers['content-type']?.toString().includes('json')
      ? (reply.json() as { result: Record<string, unknown> }).result
      : {},
  };
}

/** Sets that fill up over many batches, are emptied and filled again: their order decides which ADD is one too many. */
function fillingSets(rows: number): string {
  const lines = Array.from({ length: rows }, (_, row) => {
    const person = personId(row % 3);
    if (row % 1_900 === 1_899) return `${person},tags,,DEL`;
    return row % 50 === 49
      ? `${person},tags,e${row - 20};e${row - 35},REMOVE`
      : `${person},tags,e${row};f${row % 700},ADD`;
  });
  return `${HEADER}${lines.join('\n')}\n`;
}

describe('a dry run', () => {
  it.each([
    ['of rows of every kind', mixedFile(12_000, 300)],
    ['of Sets that fill up over many batches', fillingSets(9_000)],
  ])('%s changes nothing, and reports what the import then does', async (_of, file) => {
    const world = await makeWorld(stack.store);
    await imported(
      world,
      HEADER + `${personId(1)},tags,${Array.from({ length: 990 }, (_, at) => `old${at}`).join(';')},ADD\n`,
    );
    const before = await importedValues(stack, world);
    const dry = await imported(world, file, { dry_run: 'true' });
    expect(dry.dryRun).toBe(true);
    expect(await importedValues(stack, world)).toEqual(before);
    const wet = await imported(world, file);
    expect(await reportOf(world, dry)).toEqual(await reportOf(world, wet));
    expect(wet.rowsFailed).toBeGreaterThan(0);
    expect(await importedValues(stack, world)).not.toEqual(before);
    await waitFor('nothing of the dry run to be left', async () => {
      const {
        rows: [left],
      } = await stack.store.db.query(
        `SELECT (SELECT count(*) FROM dry_run_sets WHERE entity_id = $1) + (SELECT count(*) FROM dry_run_ids WHERE entity_id = $1) AS rows`,
        [world.entity.id],
      );
      return left.rows === 0;
    });
  });
});

describe('a dry run of similar ids', () => {
  const composed = `${personId(40)}-ren\u00e9`;

  it("counts those that differ only in capitals or composed letters from an earlier one or from a customer's", async () => {
    const world = await makeWorld(stack.store);
    await imported(await makeWorld(stack.store), `${HEADER}${personId(45).toUpperCase()},plan,gold,\n`);
    await imported(world, `${HEADER}${personId(41)},plan,gold,\n`);
    const ids = [composed, personId(41).toUpperCase(), composed, composed.normalize('NFD'), personId(45), personId(41)];
    const file = `${HEADER}${ids.map((id, at) => (at === 3 ? `${id},tags,a,ADD` : `${id},plan,gold,`)).join('\n')}\n`;
    const dry = await imported(world, file, { dry_run: 'true' });
    expect([dry.similarIds, dry.similarIdLines]).toEqual([
      3,
      [
        { line: 3, like: null },
        { line: 5, like: 2 },
        { line: 7, like: 3 },
      ],
    ]);
    expect((await call(world, 'GET', `imports/${dry.identifier}`)).result.similar_ids).toEqual({
      count: 3,
      examples: dry.similarIdLines,
    });
    expect(await imported(world, file)).toMatchObject({ similarIds: null });
  });

  it('shows the first ten lines of a table', async () => {
    const world = await makeWorld(stack.store);
    const ids = Array.from({ length: 24 }, (_, at) =>
      at % 2 === 0 ? personId(60 + at) : personId(59 + at).toUpperCase(),
    );
    const columns = JSON.stringify({ customer: 'mail', attributes: { plan: 'plan' } });
    const dry = await imported(world, `mail,plan\n${ids.map((id) => `${id},gold`).join('\n')}\n`, {
      dry_run: 'true',
      columns,
    });
    expect([dry.similarIds, dry.similarIdLines]).toEqual([
      12,
      Array.from({ length: 10 }, (_, at) => ({ line: 2 * at + 3, like: 2 * at + 2 })),
    ]);
  });
});

describe('cancel', () => {
  it('ends an import where it stands: what is merged stays, and the counts are exact', async () => {
    const world = await makeWorld(stack.store);
    const id = await postImport(stack.app, world, mixedFile(120_000, 3_000));
    await waitFor('some rows', async () => (await findImport(stack.store.db, world.entity.id, id))!.rowsIn > 0);
    const { result } = await call(world, 'POST', `imports/${id}/cancel`);
    expect(result).toMatchObject({ import_id: id, state: 'canceled' });
    // The sweep does the same: the file goes at once, also while a step reads it.
    await deleteNotedFiles(stack.store, world.entity.id, 'imports/');
    await waitFor(
      "the workflow's end",
      async () => (await stack.temporal.workflow.getHandle(`import/${id}`).describe()).status.name === 'COMPLETED',
    );
    const job = (await findImport(stack.store.db, world.entity.id, id))!;
    expect(job.state).toBe('canceled');
    expect(await stack.store.files.size(job.file!.fileKey)).toBeNull();
    expect(job.rowsIn).toBeLessThan(120_000);
    expect({ read: job.rowsIn, ok: job.rowsOk, ignored: job.rowsIgnored, failed: job.rowsFailed }).toMatchObject(
      (({ open: _, ...rows }) => rows)(result.rows as Record<string, number>),
    );
    expect(job.rowsOk + job.rowsIgnored + job.rowsFailed).toBe(job.rowsIn);
    expect((await importedValues(stack, world)).length).toBeGreaterThan(0);
    expect((await call(world, 'POST', `imports/${id}/cancel`)).text).toContain('has ended');
  });
});

describe('a re-drive', () => {
  const rows = [
    `${personId(1)},plan,gold,`,
    `${personId(1)},score,many,`, // 3: INVALID_VALUE
    `${personId(2)},colour,red,`, // 4: UNDEFINED_ATTRIBUTE
    `${personId(2)},plan,"gold, ""founders""",REPLACE`, // 5: INVALID_ACTION
    `${personId(3)},plan,gold`, // 6: PARSING_FAILED, one column too few
    `${personId(3)},plan,"open`, // 7: PARSING_FAILED, a stray quote
    `${personId(4)},born,2001-02-30,`, // 8: INVALID_VALUE
  ];

  it('of the corrected error file brings the rows, settles their errors, and stands beside the first import', async () => {
    const world = await makeWorld(stack.store);
    const first = await imported(world, `${HEADER}${rows.join('\n')}\n`);
    expect(first).toMatchObject({ rowsIn: 7, rowsOk: 1, rowsIgnored: 1, rowsFailed: 5 });
    const { text: errorFile } = await call(world, 'GET', `imports/${first.identifier}/errors.csv`);
    const lines = errorFile.trimEnd().split('\n');
    expect(lines[0]).toBe('user_id,attribute_key,value,action_type,line,error_type,reason,original');
    expect(lines).toHaveLength(1 + 6);

    await write(stack.store.db, (tx) =>
      insertCustomerAttribute(tx, world.entity.id, world.sor.id, {
        key: 'colour',
        label: 'Colour',
        valueType: 'String',
      }),
    );
    const corrected = errorFile
      .replace(',many,', ',12,')
      .replace('REPLACE', 'UPSERT')
      .replace(`"${personId(3)},plan,gold"`, `"${personId(3)},plan,gold,"`);
    const child = await imported(world, corrected, { redrive_of: first.identifier });
    expect(child).toMatchObject({
      state: 'finished',
      rowsIn: 6,
      rowsOk: 4,
      rowsFailed: 2,
      parentId: first.id,
      version: 3,
    });

    const seen = (await call(world, 'GET', `imports/${first.identifier}`)).result;
    expect(seen).toMatchObject({
      rows: { read: 7, ok: 1, ignored: 1, failed: 5, open: 2 },
      redrives: [{ import_id: child.identifier, state: 'finished', rows: { read: 6, ok: 4, ignored: 0, failed: 2 } }],
    });
    expect((await call(world, 'GET', `imports/${child.identifier}`)).result).toMatchObject({
      parent_id: first.identifier,
    });
    const open = (await importErrors(stack.store, world, first)).filter(({ redrivenBy }) => redrivenBy === null);
    expect(open.map(({ line }) => line)).toEqual([7, 8]);
    const left = (await call(world, 'GET', `imports/${first.identifier}/errors.csv`)).text;
    expect(
      left
        .trimEnd()
        .split('\n')
        .map((line) => line.split(',').at(-4)),
    ).toHaveLength(1 + 2);

    const again = left.replace('2001-02-30', '2001-02-28').replace('""open', '""closed"",');
    const grandchild = await imported(world, again, { redrive_of: child.identifier });
    expect(grandchild).toMatchObject({ rowsIn: 2, rowsOk: 2, rootId: first.id });
    expect((await call(world, 'GET', `imports/${first.identifier}`)).result).toMatchObject({ rows: { open: 0 } });
    const values = (await importedValues(stack, world)) as {
      customer_id: string;
      key: string;
      string_value: string | null;
    }[];
    expect(
      values
        .filter(({ key }) => key === 'plan')
        .map(({ customer_id: customer, string_value: plan }) => [customer, plan]),
    ).toEqual([
      [personId(1), 'gold'],
      [personId(2), 'gold, "founders"'],
      [personId(3), 'closed'],
    ]);
  });

  it('of a re-drive in turn settles the row wherever it failed, and never another one', async () => {
    const world = await makeWorld(stack.store);
    const first = await imported(world, `${HEADER}${personId(1)},score,many,\n${personId(2)},score,few,\n`);
    // Without the error file's columns nobody knows which line it corrects; its own line 2 is not the first import's.
    const plain = await imported(world, `${HEADER}${personId(2)},score,still few,\n`, { redrive_of: first.identifier });
    const ofPlain = (await call(world, 'GET', `imports/${plain.identifier}/errors.csv`)).text;
    expect(await imported(world, ofPlain.replace('still few', '2'), { redrive_of: plain.identifier })).toMatchObject({
      rowsOk: 1,
    });
    const open = async ({ identifier }: { identifier: string }) =>
      ((await call(world, 'GET', `imports/${identifier}`)).result as { rows: { open: number } }).rows.open;
    expect([await open(first), await open(plain)]).toEqual([2, 0]);

    const errorFile = (await call(world, 'GET', `imports/${first.identifier}/errors.csv`)).text;
    const child = await imported(world, errorFile.replace(',many,', ',1,'), { redrive_of: first.identifier });
    expect([await open(first), await open(child)]).toEqual([1, 1]);
    const ofChild = (await call(world, 'GET', `imports/${child.identifier}/errors.csv`)).text;
    await imported(world, ofChild.replace(',few,', ',2,'), { redrive_of: child.identifier });
    expect([await open(first), await open(child)]).toEqual([0, 0]);
  });

  it('sent twice settles each row once, and one that failed again stays open', async () => {
    const world = await makeWorld(stack.store);
    const first = await imported(world, `${HEADER}${personId(1)},score,many,\n${personId(2)},score,few,\n`);
    const { text } = await call(world, 'GET', `imports/${first.identifier}/errors.csv`);
    const corrected = text.replace(',many,', ',12,');
    for (const rowsOk of [1, 1])
      expect(await imported(world, corrected, { redrive_of: first.identifier })).toMatchObject({ rowsOk });
    expect((await call(world, 'GET', `imports/${first.identifier}`)).result).toMatchObject({
      rows: { failed: 2, open: 1 },
      redrives: [{ rows: { ok: 1 } }, { rows: { ok: 1 } }],
    });
  });

  it("is refused of an import that is unknown, another SoR's, a dry run, or still under way", async () => {
    const [world, other] = [await makeWorld(stack.store), await makeWorld(stack.store)];
    const bad = `${HEADER}${personId(1)},score,many,\n`;
    const dry = await imported(world, bad, { dry_run: 'true' });
    const foreign = await imported(other, bad);
    const running = await postImport(stack.app, world, mixedFile(60_000, 1_000));
    for (const id of ['imp_unknown', dry.identifier, foreign.identifier, running]) {
      await expect(imported(world, bad, { redrive_of: id })).rejects.toThrow(/redrive_of/);
    }
    await importEnded(stack.store, world, running);
  });
});

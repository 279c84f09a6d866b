import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { ImportError, ImportProgress } from '../../../api/imports/imports.ts';
import { viewImportProgress } from '../../../server/imports/imports.ts';
import { deletePinnedFilesOf, listPinnedLinesOf } from '../../../store/imports/personal-data.ts';
import { findImport } from '../../../store/imports/imports.ts';
import { file as served, httpSource } from '../../harness/core/http-source.ts';
import { personId } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { importEnded, importForm, postImport, startImportOf } from '../../harness/imports/imports.ts';
import { inlineRows, workbook } from '../../harness/imports/workbooks.ts';
import { importedValues } from './import-attributes.kill.ts';

const stack = useStack({ impatient: true });
let world: World;

beforeAll(async () => {
  world = await makeWorld(stack.store);
});

const COLUMNS = { customer: 'E-mail', attributes: { plan: 'plan', 'Orders total': 'score', Tags: 'tags' } };
const [ADA, BOB, EVE] = [personId(1), personId(2), personId(3)];
const TABLE = [
  ['Orders total', 'plan', 'E-mail', 'notes', 'Tags', ''],
  ['12.5', 'gold', ADA, 'called, "twice"\nin May', 'a;b', ''],
  ['', 'silver', BOB, '', '', ''],
  ['a dozen', '', EVE, 'x', ';', 'a note'],
  ['3', 'gold', '', '', '', ''],
];
const asCsv = (rows: string[][]) =>
  rows.map((row) => row.map((cell) => `"${cell.replaceAll('"', '""')}"`).join()).join('\n');

async function ended(id: string) {
  const job = await importEnded(stack.store, world, id);
  const status = ImportProgress.parse(await viewImportProgress(stack.store.db, job, new Date()));
  const { body } = await read(`/api/attribute_values/import_errors?import_id=${id}`);
  const errors = (JSON.parse(body) as { result: { attribute_errors: unknown[] } }).result.attribute_errors;
  return { id, job, status, errors: errors.map((error) => ImportError.parse(error)) };
}

function read(url: string) {
  return stack.app.inject({
    url,
    headers: { authorization: `Token ${world.token}`, accept: 'application/vnd.svc.v3' },
  });
}

async function imported(file: string | Buffer, fields: Record<string, string> = {}, columns: object = COLUMNS) {
  return ended(await postImport(stack.app, world, file, { fields: { columns: JSON.stringify(columns), ...fields } }));
}

async function valuesNow() {
  const values = (await importedValues(stack, world)) as {
    customer_id: string;
    key: string;
    removed: boolean;
    [member: string]: unknown;
  }[];
  return values.map(({ customer_id: customer, key, ...value }) => [
    customer,
    key,
    ...Object.values(value).filter((each) => each !== null),
  ]);
}

describe('an import of a table whose columns are mapped', () => {
  it('continues where it was when a worker is killed, and counts each cell once', async () => {
    const lines = Array.from({ length: 3_000 }, (_, at) => `${at},${at % 3 === 0 ? '' : 'gold'},${personId(at)},x`);
    const table = `score,plan,E-mail,vip\n${lines.join('\n')}\n`;
    const columns = { customer: 'E-mail', attributes: { score: 'score', plan: 'plan', vip: 'vip' } };
    const doomed = stack.startWorker({
      batchRecords: 900,
      kill: { boundary: 'import: after a batch committed', hit: 3 },
    });
    const id = await postImport(stack.app, world, table, { fields: { columns: JSON.stringify(columns) } });
    expect((await doomed.ended).signal).toBe('SIGKILL');
    expect((await findImport(stack.store.db, world.entity.id, id))!.rowsIn).toBeLessThan(9_000);
    stack.startWorker();
    expect((await ended(id)).status).toMatchObject({
      state: 'finished',
      rows: { read: 9_000, ok: 5_000, ignored: 1_000, failed: 3_000, open: 3_000 },
      columns: { empty_cells: 1_000 },
    });
    expect(await valuesNow()).toHaveLength(5_000);
  });

  it('takes each mapped cell as a row, in any order of columns, and leaves out empty cells', async () => {
    world = await makeWorld(stack.store);
    await imported(`plan,E-mail,Orders total,Tags\nold,${BOB},7,x\nold,${EVE},7,x\n`);
    const { status, errors, id } = await imported(asCsv(TABLE));
    expect(status).toMatchObject({
      state: 'finished',
      rows: { read: 10, ok: 4, ignored: 3, failed: 3, open: 3 },
      version: 3,
      columns: { ...COLUMNS, ignored: ['notes'], ignored_count: 1, empty_cells: 3, unnamed_cells: 1 },
    });
    expect(errors.map(({ line, column, key, error_type: type, raw }) => [line, column, key, type, raw])).toEqual([
      [5, 'Orders total', 'score', 'INVALID_VALUE', `${EVE},score,a dozen`],
      [5, 'Tags', 'tags', 'EMPTY_VALUE', `${EVE},tags,;`],
      [6, null, null, 'INVALID_CUSTOMER_ID', '"3","gold","","","",""'],
    ]);
    expect(errors[2]!.message).toBe('in the column "E-mail", the customer id is empty');
    expect(await valuesNow()).toEqual([
      [ADA, 'plan', false, 'gold'],
      [ADA, 'score', false, '12.5'],
      [ADA, 'tags', false, ['a', 'b']],
      [BOB, 'plan', false, 'silver'],
      [BOB, 'score', false, '7'],
      [BOB, 'tags', false, ['x']],
      [EVE, 'plan', false, 'old'],
      [EVE, 'score', false, '7'],
      [EVE, 'tags', false, ['x']],
    ]);
    const page = await read(`/api/attribute_values/import_errors?import_id=${id}&limit=1`);
    expect(page.json()).toMatchObject({
      result: { attribute_errors: [{ column: 'Orders total' }, { column: 'Tags' }] },
    });

    const file = await read(`/api/attribute_values/imports/${id}/errors.csv`);
    expect(
      file.body
        .split('\n')
        .slice(0, 2)
        .map((line) => line.split(',').slice(0, 4)),
    ).toEqual([
      ['user_id', 'attribute_key', 'value', 'line'],
      [EVE, 'score', 'a dozen', '5 column 1'],
    ]);
    const corrected = file.body.replace('a dozen', '12').replace(',,,6,', `${BOB},score,3,6,`);
    const again = await ended(await postImport(stack.app, world, corrected, { fields: { redrive_of: id } }));
    expect(again.status).toMatchObject({ rows: { read: 3, ok: 2, failed: 1 }, columns: null });
    expect((await ended(id)).status.rows).toMatchObject({ open: 2 });
    const rest = (await read(`/api/attribute_values/imports/${again.id}/errors.csv`)).body;
    expect(rest.split('\n')[1]!.split(',').slice(0, 4)).toEqual([EVE, 'tags', ';', '5 column 5']);
    await ended(await postImport(stack.app, world, rest.replace(',;,', ',c,'), { fields: { redrive_of: again.id } }));
    expect((await ended(id)).status.rows).toMatchObject({ open: 1 });
    await imported(asCsv([TABLE[0]!, ['3', 'gold', BOB, '', '', '']]), { redrive_of: id });
    expect((await ended(id)).status.rows).toMatchObject({ open: 0 });
    expect(await valuesNow()).toContainEqual([BOB, 'plan', false, 'gold']);
    expect(await valuesNow()).toContainEqual([EVE, 'tags', false, ['c']]);
  });

  it('reads the same from a gzip file, an .xlsx file and an address, and a dry run changes nothing', async () => {
    world = await makeWorld(stack.store);
    const csv = asCsv(TABLE);
    const url = (await httpSource()).serve('/table.csv', served(Buffer.from(csv)));
    const xlsx = await workbook({ sheets: { People: inlineRows(TABLE) } });
    const dryRun = await imported(csv, { dry_run: 'true' });
    expect(await valuesNow()).toEqual([]);
    const runs = [
      dryRun,
      await imported(gzipSync(csv)),
      await imported(xlsx),
      await ended(await startImportOf(stack.app, world, { file_url: url, columns: COLUMNS })),
    ];
    for (const { status, errors } of runs) {
      expect(status).toMatchObject({
        rows: { read: 10, ok: 4, ignored: 3, failed: 3 },
        columns: { ignored: ['notes'], empty_cells: 3, unnamed_cells: 1 },
      });
      expect(errors.map(({ column, message }) => [column, message])).toEqual(
        dryRun.errors.map(({ column, message }) => [column, message]),
      );
    }
    expect(runs[2]!.errors.map(({ line }) => line)).toEqual([4, 4, 5]);
    expect(await valuesNow()).toHaveLength(4);
  });

  it('takes midnights as dates where dates are lenient, also of cells that a library writes with a time', async () => {
    world = await makeWorld(stack.store);
    const columns = { customer: 'who', attributes: { born: 'born', plan: 'plan' } };
    const styles = '<cellXfs><xf numFmtId="0"/><xf numFmtId="22"/></cellXfs>';
    const born = `<row r="2"><c t="inlineStr"><is><t>${ADA}</t></is></c><c s="1"><v>46053</v></c></row>`;
    const xlsx = await workbook({ sheets: { People: inlineRows([['who', 'born', 'plan']]) + born }, styles });
    expect((await imported(xlsx, {}, columns)).errors).toMatchObject([
      {
        line: 2,
        column: 'born',
        message: expect.stringMatching(/^"2026-01-31T00:00:00" is no day .*: .* set dates to lenient$/),
      },
    ]);
    const csv = `who,born,plan\n${BOB},1990-05-06 00:00:00,x\n`;
    for (const [file, fields] of [
      [xlsx, { dry_run: 'true' }],
      [xlsx, {}],
      [csv, {}],
    ] as const) {
      const { status } = await imported(file, { ...fields, dates: 'lenient' }, columns);
      expect(status).toMatchObject({ file: { dates: 'lenient' }, rows: { failed: 0 } });
    }
    expect((await valuesNow()).filter(([, key]) => key === 'born').map(([who]) => who)).toEqual([ADA, BOB]);
  });

  it('is refused as a whole where the header lacks a mapped column, and names what it has', async () => {
    world = await makeWorld(stack.store);
    const refusals: [string, string][] = [
      [
        'email;plan;total\nx;y;z\n',
        'the header has no columns "E-mail", "Orders total", "Tags"; it has "email", "plan", "total"',
      ],
      ['E-mail,e-MAIL ,PLAN,plan,Orders  total,tags,TAGS\n', 'the header has 2 columns "Tags": rename one'],
      [
        'e-mail:plan\n',
        'the header has no columns "E-mail", "plan", "Orders total", "Tags"; it has "e-mail:plan". ' +
          'If it has more, set delimiter',
      ],
      ['', 'the file is empty'],
    ];
    for (const [file, failure] of refusals) {
      const { status } = await imported(file);
      expect(status).toMatchObject({ state: 'failed', rows: { read: 0 }, columns: { ...COLUMNS, ignored: null } });
      expect(status.failure).toBe(`${failure}; the first line has to have the names that columns maps`);
    }
    const sheet = await imported(await workbook({ sheets: { Notes: inlineRows([['a', 'b']]) } }));
    expect(sheet.status.failure).toContain('it has "a", "b". If the table stands in another sheet, set sheet');
    const folded = await imported(`orders  TOTAL,e-mail,Plan,tags\n1,${ADA},gold,a\nshort,${BOB}\n`);
    expect(folded.status).toMatchObject({ rows: { read: 4, ok: 3, failed: 1 } });
    expect(folded.errors).toMatchObject([{ line: 3, column: null, error_type: 'PARSING_FAILED', raw: `short,${BOB}` }]);
    const { body } = await read(`/api/attribute_values/imports/${folded.id}/errors.csv`);
    expect(body).toContain('correct it in the file that was imported, at line 3');
  });

  it('brings lines that failed as a whole by their table, imported again, and not by a cell of the error file', async () => {
    world = await makeWorld(stack.store);
    const header = 'E-mail,plan,Orders total,Tags\n';
    const first = await imported(`${header}${ADA},gold\n${BOB},silver,many,x\n`);
    expect(first.status.rows).toEqual({ read: 4, ok: 2, ignored: 0, failed: 2, open: 2 });
    const { body } = await read(`/api/attribute_values/imports/${first.id}/errors.csv`);
    expect(body).toContain(
      'at line 2. Then import the corrected lines below their header as a table, with redrive_of and columns',
    );
    const filled = body.replace(/\n"?,"?,"?,2,/, `\n${ADA},plan,gold,2,`).replace(',many,', ',3,');
    const cells = await ended(await postImport(stack.app, world, filled, { fields: { redrive_of: first.id } }));
    expect(cells.status.rows).toMatchObject({ ok: 2, failed: 0 });
    expect((await ended(first.id)).status.rows).toMatchObject({ open: 1 });
    expect(await valuesNow()).toContainEqual([ADA, 'plan', false, 'gold']);

    await ended(await postImport(stack.app, world, `user_id,attribute_key,value\n${ADA},score,99\n`));
    const failed = await imported(`email\n${ADA}\n`, { redrive_of: first.id });
    const again = await imported(`${header}${ADA},gold,7,y\n`, { redrive_of: failed.id });
    expect(again.status.rows).toMatchObject({ ok: 3, open: 0 });
    // It counts as said with the first import, before the value that was accepted meanwhile.
    expect(await valuesNow()).toEqual(
      expect.arrayContaining([
        [ADA, 'score', false, '99'],
        [ADA, 'tags', false, ['y']],
      ]),
    );
    for (const each of [await ended(first.id), await ended(failed.id)]) {
      expect(each.status.rows).toMatchObject({ open: 0 });
      expect(each.errors.filter(({ column }) => column === null)).toMatchObject([{ redriven_by: again.id }]);
    }
    const classic = await postImport(stack.app, world, `user_id,attribute_key,value\n${ADA},plan,x\n`);
    await ended(classic);
    const { headers, payload } = importForm(world, header, { columns: JSON.stringify(COLUMNS), redrive_of: classic });
    const refused = await stack.app.inject({
      method: 'POST',
      url: '/api/attribute_values/batch_import',
      headers,
      payload,
    });
    expect([refused.statusCode, refused.json().error_message]).toEqual([
      400,
      expect.stringMatching(/columns: is taken with redrive_of only/),
    ]);
  });

  it('refuses a mapping at once that names no attribute of the SoR, or one twice', async () => {
    const refusals: [object | string, RegExp][] = [
      [
        { customer: 'a', attributes: { b: 'plam' } },
        /names "plam", which is no attribute of the System of Records: did you mean plan\?/,
      ],
      [{ customer: 'a', attributes: { b: 'plan', c: 'plan' } }, /maps two columns to the attribute "plan"/],
      [{ customer: 'a', attributes: {} }, /must name a column/],
      [{ customer: 'a', custmer: 'b', attributes: { b: 'plan' } }, /custmer: is unknown: did you mean customer/],
      ['{', /JSON/],
    ];
    for (const [columns, message] of refusals) {
      const { headers, payload } = importForm(world, 'a,b\n', {
        columns: typeof columns === 'string' ? columns : JSON.stringify(columns),
      });
      const reply = await stack.app.inject({
        method: 'POST',
        url: '/api/attribute_values/batch_import',
        headers,
        payload,
      });
      expect([reply.statusCode, reply.json().error_message]).toEqual([400, expect.stringMatching(message)]);
    }
  });

  it("is searched for a person by the customer's column", async () => {
    world = await makeWorld(stack.store);
    await imported(asCsv(TABLE));
    const people = [{ customerType: 'user_id' as const, customerId: BOB }];
    const lines = await Array.fromAsync(
      listPinnedLinesOf({ db: stack.store.db, files: stack.store.files }, world.entity.id, people),
    );
    expect(lines).toMatchObject([{ line: `"","silver","${BOB}","","",""`, isOwn: true }]);
    expect(await deletePinnedFilesOf({ db: stack.store.db, files: stack.store.files }, world.entity.id, people)).toBe(
      1,
    );
  });
});

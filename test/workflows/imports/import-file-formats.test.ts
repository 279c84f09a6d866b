import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { ImportProgress } from '../../../api/imports/imports.ts';
import { viewImportProgress } from '../../../server/imports/imports.ts';
import { findImport } from '../../../store/imports/imports.ts';
import { personId } from '../../harness/core/people.ts';
import { useStack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { importEnded, importErrors, postImport } from '../../harness/imports/imports.ts';
import { inlineRows, workbook, zipOf } from '../../harness/imports/workbooks.ts';
import { importedValues } from './import-attributes.kill.ts';

const stack = useStack();
let world: World;

beforeAll(() => {
  stack.startWorker({ keptLimits: { bytesPerSor: 20_000_000, bytesPerEntity: 40_000_000 } });
});

/** Imports a file into a SoR of its own. */
async function imported(file: string | Buffer, fields: Record<string, string> = {}) {
  world = await makeWorld(stack.store);
  return ended(await postImport(stack.app, world, file, { fields }));
}

async function ended(id: string) {
  const job = await importEnded(stack.store, world, id);
  const status = ImportProgress.parse(await viewImportProgress(stack.store.db, job, new Date()));
  const errors = await importErrors(stack.store, world, job);
  const values = (await importedValues(stack, world)) as { key: string; [member: string]: unknown }[];
  return {
    id,
    job,
    status,
    errors: errors.map(({ line, errorType, message, raw }) => ({ line, errorType, message, raw })),
    values: Object.fromEntries(
      values.map(({ key, ...value }) => [
        key,
        Object.values(value)
          .slice(2)
          .find((each) => each !== null),
      ]),
    ),
  };
}

const CSV = { format: 'csv', delimiter: ',', encoding: 'utf-8', decimal: '.', sheet: null };

describe('an import of a file as a spreadsheet saves it', () => {
  it('finds the delimiter in the header, and shows it', async () => {
    for (const delimiter of [';', '\t', '|']) {
      const rows = [
        ['user_id', 'attribute_key', 'value'],
        [personId(1), 'plan', `"a${delimiter}, b"`],
        [personId(1), 'score', '12.5'],
      ];
      const { status, values } = await imported(rows.map((row) => row.join(delimiter)).join('\r\n'));
      expect(status).toMatchObject({ file: { ...CSV, delimiter }, rows: { ok: 2, failed: 0 } });
      expect(values).toMatchObject({ plan: `a${delimiter}, b`, score: '12.5' });
    }
  });

  it('reads UTF-16 with a byte order mark, gzipped as well, and refuses only the row that is none', async () => {
    const rows = `${personId(1)}\tplan\tgöld €\n${personId(2)}\tplan\tx\ud800\n`;
    const file = Buffer.from(`\ufeffuser_id\tattribute_key\tvalue\n${rows}`, 'utf16le');
    const { status, values, errors, job } = await imported(gzipSync(file));
    expect(status).toMatchObject({
      state: 'finished',
      file: { ...CSV, delimiter: '\t', encoding: 'utf-16le' },
      rows: { ok: 1, failed: 1 },
      source: { bytes: gzipSync(file).length, compressed: true, decompressed_bytes: job.file!.fileBytes },
    });
    expect(values).toMatchObject({ plan: 'göld €' });
    expect(errors).toMatchObject([{ line: 3, errorType: 'FILE_ENCODING' }]);
  });

  it('reads windows-1252 and a comma before decimals only where they are set, and else says how to set them', async () => {
    const rows = `user_id;attribute_key;value\n${personId(1)};plan;g\xf6ld \x80\n${personId(1)};score;-12,5\n${personId(1)};tags;1,5;2\n`;
    const file = Buffer.from(rows.replace('tags;1,5;2', 'tags;"1,5;2"'), 'latin1');
    const plain = await imported(file);
    expect(plain.errors).toMatchObject([
      { line: 2, errorType: 'FILE_ENCODING', message: expect.stringMatching(/setting encoding, such as windows-1252/) },
      {
        line: 3,
        errorType: 'INVALID_VALUE',
        message: '"-12,5" is not a number as JSON writes it: for a comma before decimals, set decimal to a comma',
      },
    ]);
    const set = await imported(file, { encoding: 'windows-1252', decimal: ',' });
    expect(set.status).toMatchObject({
      file: { ...CSV, delimiter: ';', encoding: 'windows-1252', decimal: ',' },
      rows: { ok: 3, failed: 0 },
    });
    expect(set.values).toMatchObject({ plan: 'göld €', score: '-12.5', tags: ['1,5', '2'] });
    const texts = ['1.5', '"1,2,3"', '9223372036854775808', '"9.223.372.036.854.775.807,00"'];
    const numbers = ['user_id,attribute_key,value', ...texts.map((text) => `${personId(1)},score,${text}`)];
    const { errors, values } = await imported(numbers.join('\n'), { decimal: ',' });
    expect(errors).toMatchObject([
      { line: 2, message: '"1.5" is not a number; decimal is set to a comma' },
      { line: 3, message: '"1,2,3" is not a number; decimal is set to a comma' },
      { line: 4, message: '"9223372036854775808" has a magnitude over 9223372036854775807; decimal is set to a comma' },
    ]);
    expect(values).toMatchObject({ score: '9223372036854775807.00' });
  });

  it('gives the refused rows back with the same delimiter, and reads them again with the same decimals', async () => {
    const rows = [
      `${personId(1)};score;1,5x`,
      `${personId(2)};plan`,
      `${personId(3)};score;7,25`,
      `${personId(1)};born;x`,
    ];
    const { id, status } = await imported(`user_id;attribute_key;value\n${rows.join('\n')}\n`, {
      decimal: ',',
      null_marker: '-',
      dates: 'lenient',
    });
    expect(status.rows).toMatchObject({ ok: 1, failed: 3 });
    const url = `/api/attribute_values/imports/${id}/errors.csv`;
    const { body } = await stack.app.inject({ url, headers: { authorization: `Token ${world.token}` } });
    const [header, ...lines] = body.trimEnd().split('\n');
    expect(header).toBe('user_id;attribute_key;value;line;error_type;reason;original');
    expect(lines[1]).toMatch(new RegExp(`^;;;3;PARSING_FAILED;.*;"${personId(2)};plan"$`));
    const corrected = body
      .replace('1,5x', '1,5')
      .replace(`${personId(2)};plan"`, `${personId(2)};plan;gold"`)
      .replace(';born;x;', ';born;1990-01-02 00:00;');
    const child = await ended(await postImport(stack.app, world, corrected, { fields: { redrive_of: id } }));
    expect(child.status).toMatchObject({
      file: { delimiter: ';', decimal: ',', null_marker: '-', dates: 'lenient' },
      rows: { ok: 3, failed: 0 },
    });
    expect(
      await viewImportProgress(stack.store.db, (await findImport(stack.store.db, world.entity.id, id))!, new Date()),
    ).toMatchObject({ rows: { open: 0 } });
  });

  it('lets no re-driven row overwrite a later line of its file, be it re-driven too, or an import accepted later', async () => {
    const [ADA, BOB, EVE, CAL, DAN] = [1, 2, 3, 4, 5].map(personId) as [string, string, string, string, string];
    const bad = 'x'.repeat(300);
    const { id, status } = await imported(
      `user_id,attribute_key,value\n${[
        `${ADA},plan,${bad}`,
        `${ADA},plan,gold`,
        `${BOB},plan,silver`,
        `${BOB},plan,${bad}`,
        `${EVE},plan,${bad}`,
        `${EVE},tags,${bad}`,
        `${ADA},tags,${bad}`,
        `${ADA},tags,a;b`,
        `${CAL},plan`,
        `${CAL},plan,bronze`,
        `${DAN},plan,${bad}1`,
        `${DAN},plan,${bad}2`,
      ].join('\n')}\n`,
    );
    expect(status.rows).toMatchObject({ ok: 4, failed: 8 });
    await ended(
      await postImport(stack.app, world, `user_id,attribute_key,value\n${EVE},plan,platinum\n${EVE},tags,p;q\n`),
    );
    const { body } = await stack.app.inject({
      url: `/api/attribute_values/imports/${id}/errors.csv`,
      headers: { authorization: `Token ${world.token}` },
    });
    const corrected = body
      .replaceAll(/x{300}/g, 'late')
      .replace(`${CAL},plan"`, `${CAL},plan,late"`)
      .trimEnd()
      .split('\n');
    expect(corrected).toHaveLength(9);
    const last = await ended(
      await postImport(stack.app, world, `${corrected[0]}\n${corrected[8]}\n`, { fields: { redrive_of: id } }),
    );
    expect(last.status.rows).toMatchObject({ ok: 1, failed: 0 });
    const rest = await ended(
      await postImport(stack.app, world, corrected.slice(0, 8).join('\n'), { fields: { redrive_of: id } }),
    );
    expect(rest.status.rows).toMatchObject({ read: 7, ok: 7, failed: 0 });
    const values = (
      (await importedValues(stack, world)) as { customer_id: string; key: string; [member: string]: unknown }[]
    ).map(({ customer_id: who, key, ...value }) => [who, key, Object.values(value).findLast((each) => each !== null)]);
    expect(values).toEqual([
      [ADA, 'plan', 'gold'],
      [ADA, 'tags', ['a', 'b']],
      [BOB, 'plan', 'late'],
      [EVE, 'plan', 'platinum'],
      [EVE, 'tags', ['p', 'q']],
      [CAL, 'plan', 'bronze'],
      [DAN, 'plan', 'late2'],
    ]);
    expect(
      await viewImportProgress(stack.store.db, (await findImport(stack.store.db, world.entity.id, id))!, new Date()),
    ).toMatchObject({ rows: { open: 0 } });
  });

  it('takes a later line as later wherever it stands in the re-drive, and one that changed nothing yet as none', async () => {
    const [ADA, BOB] = [1, 2].map(personId) as [string, string];
    const bad = 'x'.repeat(300);
    const { id, status } = await imported(
      `user_id,attribute_key,value\n${[
        `${ADA},later,1`,
        `${ADA},later,2`,
        `${BOB},plan,${bad}1`,
        `${BOB},plan,${bad}2`,
      ].join('\n')}\n`,
    );
    expect(status.rows).toMatchObject({ ok: 0, ignored: 2, failed: 2 });
    const headers = { authorization: `Token ${world.token}` };
    const { body } = await stack.app.inject({ url: `/api/attribute_values/imports/${id}/errors.csv`, headers });
    const defined = await stack.app.inject({
      method: 'POST',
      url: '/api/customer_attributes',
      headers,
      payload: { sor_id: world.sor.identifier, key: 'later', label: 'Later', value_type: 'Number' },
    });
    expect(defined.statusCode).toBe(200);
    const [header, first, , third, fourth] = body
      .replaceAll(/x{300}/g, 'late')
      .trimEnd()
      .split('\n');
    const redriven = [header, fourth, third, first].join('\n');
    const { values } = await ended(await postImport(stack.app, world, redriven, { fields: { redrive_of: id } }));
    expect(values).toMatchObject({ later: '1', plan: 'late2' });
  });

  it('reads an .xlsx file as rows, with the lines of its sheet', async () => {
    const strings = [
      'user_id',
      'attribute_key',
      'value',
      'action_type',
      personId(1),
      'plan',
      'born',
      'score',
      'vip',
      'two\nlines',
    ].map((text) => `<t>${text}</t>`);
    const text = (at: number) => `<c t="s"><v>${at}</v></c>`;
    const rows =
      `<row r="1">${[0, 1, 2, 3].map(text).join('')}</row><row r="2">${text(4)}${text(5)}${text(9)}</row>` +
      `<row r="4">${text(4)}${text(6)}<c s="1"><v>46053</v></c></row><row r="5">${text(4)}${text(7)}<c><v>1.25E-2</v></c></row>` +
      `<row r="6">${text(4)}${text(8)}<c t="b"><v>1</v></c></row><row r="8">${text(4)}${text(7)}<c t="e"><v>#DIV/0!</v></c></row>` +
      `<row r="9">${text(4)}</row>`;
    const styles = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>';
    const file = await workbook({ sheets: { Notes: inlineRows([['x']]), Values: rows }, strings, styles });
    const { status, values, errors, job } = await imported(file, { sheet: 'Values', decimal: ',' });
    expect(status).toMatchObject({
      state: 'finished',
      file: { ...CSV, format: 'xlsx', sheet: 'Values' },
      rows: { read: 6, ok: 4, failed: 2 },
      next_line: 10,
      source: { bytes: file.length, sha256: job.file!.sourceSha256.toString('hex'), compressed: false },
    });
    expect(values).toMatchObject({ plan: 'two\nlines', score: '0.0125', vip: true });
    expect(errors).toMatchObject([
      { line: 8, errorType: 'INVALID_VALUE', raw: `${personId(1)},score,#DIV/0!,` },
      { line: 9, errorType: 'EMPTY_KEY', raw: `${personId(1)},,,` },
    ]);
    expect(await Array.fromAsync(stack.store.files.list('imports/'), ({ key }) => key)).toContain(job.file!.fileKey);
  });

  it('opens a zip file with one file, and fails for any other with what it found', async () => {
    const csv = `user_id,attribute_key,value\n${personId(1)},plan,gold\n`;
    const one = await imported(await zipOf({ 'values.csv': csv }));
    expect(one.status).toMatchObject({ rows: { ok: 1 }, file: CSV, source: { compressed: true } });
    const large = await imported(await zipOf({ 'values.csv': csv + '\n'.repeat(20_000_000) }));
    expect(large.status).toMatchObject({ state: 'failed', rows: { read: 0 }, file: null });
    expect(large.errors).toMatchObject([
      { errorType: 'FILE_TRANSFER_ERROR', message: expect.stringContaining('over 20000000 bytes') },
    ]);
    const two = await imported(await zipOf({ 'a.csv': csv, 'b.csv': csv }));
    expect(two.status).toMatchObject({
      state: 'failed',
      failure: 'The zip file holds 2 files ("a.csv", "b.csv"): it must hold exactly one',
      file: null,
      errors_by_type: {},
    });
    expect(two.errors).toMatchObject([{ line: 0, errorType: 'PARSING_FAILED' }]);
    const cut = await imported((await zipOf({ 'a.csv': csv })).subarray(0, -5));
    expect(cut.errors).toMatchObject([
      { line: 0, errorType: 'FILE_TRANSFER_ERROR', message: 'The zip file is cut off: its end is missing' },
    ]);
  });

  it('refuses settings that it does not know by their names', async () => {
    const bad: [string, string, RegExp][] = [
      ['delimiter', 'x', /delimiter: must be a comma, a semicolon, a tab/],
      ['encoding', 'utf-7', /encoding: must be one of utf-8, /],
      ['decimal', ';', /decimal: must be a point or a comma/],
      ['sheet', 'x'.repeat(32), /sheet: must have at most 31/],
      ['null_marker', 'x'.repeat(65), /null_marker: must have at most 64/],
    ];
    for (const [name, value, message] of bad) {
      await expect(postImport(stack.app, world, '', { fields: { [name]: value } })).rejects.toThrow(message);
    }
    expect(
      (await imported(`user_id\tattribute_key\tvalue\n${personId(1)}\tplan\ta,b;c\n`, { delimiter: 'tab' })).status.rows
        .ok,
    ).toBe(1);
  });
});

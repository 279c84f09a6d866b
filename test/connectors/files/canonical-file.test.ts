import { mkdtemp, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalFile } from '../../../connectors/files/canonical-file.ts';
import type { TableSettings } from '../../../domain/csv/table-format.ts';
import { heldBytes } from '../../harness/core/memory.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { inlineRows, workbook, workbookParts, zipOf } from '../../harness/imports/workbooks.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const scratch = await mkdtemp(join(tmpdir(), 'canonical-'));
const MIB = 1024 ** 2;

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function read(bytes: Buffer, settings: TableSettings = {}, { size = 1000, maxBytes = 100 * MIB } = {}) {
  const context = { scratch, signal: AbortSignal.timeout(HANGS_MS), maxBytes };
  const { format, isConverted, chunks } = await canonicalFile(pieces(bytes, size), settings, context);
  const text = Buffer.concat(await Array.fromAsync(chunks));
  expect(await readdir(scratch)).toEqual([]);
  return { format, isConverted, text: text.toString(), bytes: text };
}

const refusal = async (bytes: Buffer, settings?: TableSettings, limits?: object) => {
  const error = await read(bytes, settings, limits).then(
    () => null,
    (thrown: { status: string; message: string }) => thrown,
  );
  expect(await readdir(scratch)).toEqual([]);
  return { status: error?.status, message: error?.message };
};

describe('a file of text', () => {
  it('is handed on as it is where it is UTF-8, with the delimiter of its header', async () => {
    for (const delimiter of [',', ';', '\t', '|'] as const) {
      const line = `user_id${delimiter}"a,b;c|d\te"${delimiter}value\n1${delimiter}x,y,z,u;v;w|p|q${delimiter}3\n`;
      const { format, isConverted, text } = await read(Buffer.from(`\r\n${line}`), {}, { size: 3 });
      expect({ isConverted, text }).toEqual({ isConverted: false, text: `\r\n${line}` });
      expect(format).toEqual({ format: 'csv', delimiter, encoding: 'utf-8', sheet: null, isZip: false });
    }
    expect((await read(Buffer.from('user_id\n1;2;3\n'))).format.delimiter).toBe(',');
    expect((await read(Buffer.from('a;b\n'), { delimiter: '|' })).format.delimiter).toBe('|');
    expect((await read(Buffer.alloc(0))).text).toBe('');
  });

  it('may begin with the line that tells Excel its delimiter, which is no row and counts as a line', async () => {
    const text = 'sep=;\r\nuser_id;a,b\n';
    for (const file of [
      Buffer.from(text),
      Buffer.from(`\ufeff${text}`),
      Buffer.from(`\ufeff${text}`, 'utf16le'),
      await zipOf({ 'a.csv': text }),
    ]) {
      expect(await read(file, {}, { size: 3 })).toMatchObject({
        text: '\nuser_id;a,b\n',
        isConverted: true,
        format: { delimiter: ';' },
      });
    }
    expect(await read(Buffer.from('separator;a\n'))).toMatchObject({ text: 'separator;a\n', isConverted: false });
  });

  it('of another kind is refused as what it is', async () => {
    const files: [Buffer, RegExp][] = [
      [Buffer.from('BZh91AY&SY'), /bzip2.*send it as CSV/],
      [Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0, 0]), /xz/],
      [Buffer.from([0x5d, 0, 0, 0x80, 0]), /LZMA/],
      [Buffer.from('PAR1xxxx'), /Parquet/],
      [Buffer.from('user_id,a\n', 'utf16le'), /UTF-16 without a byte order mark: set encoding to utf-16le/],
    ];
    for (const [file, message] of files) expect((await refusal(file)).message).toMatch(message);
    expect((await read(Buffer.from('user_id,a\n', 'utf16le'), { encoding: 'utf-16le' })).text).toBe('user_id,a\n');
  });

  it('of UTF-16 is known by its byte order mark, in pieces of any size', async () => {
    const text = 'user_id;näme\n1;€ 😀\n';
    const little = Buffer.from(`\ufeff${text}`, 'utf16le');
    const big = Buffer.from(little).swap16();
    for (const size of [1, 2, 3, 1000]) {
      expect(await read(little, {}, { size })).toMatchObject({
        text,
        isConverted: true,
        format: { encoding: 'utf-16le', delimiter: ';' },
      });
      expect(await read(big, { encoding: 'windows-1252' }, { size })).toMatchObject({
        text,
        format: { encoding: 'utf-16be' },
      });
    }
  });

  it('of UTF-16 loses no character, and has a byte that is no UTF-8 where half a character stands', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 7 }), async (text, size) => {
        const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
        expect((await read(bytes, {}, { size })).text).toBe(text);
      }),
      { numRuns: sampledRuns(100) },
    );
    const broken = Buffer.from('\ufeffa\n1\ud800x\n2\udc00\n3', 'utf16le');
    const { bytes } = await read(Buffer.concat([broken, Buffer.from([0x41])]), {}, { size: 3 });
    expect(bytes.toString('latin1')).toBe('a\n1\xffx\n2\xff\n3\xff');
  });

  it('of a single-byte encoding is read by it only where it is set', async () => {
    const bytes = Buffer.from('user_id,n\xe4me\n1,\x80\n', 'latin1');
    expect(await read(bytes)).toMatchObject({ isConverted: false, format: { encoding: 'utf-8' } });
    expect(await read(bytes, { encoding: 'windows-1252' })).toMatchObject({ text: 'user_id,näme\n1,€\n' });
    expect(await read(bytes, { encoding: 'latin-1' })).toMatchObject({ text: 'user_id,näme\n1,\x80\n' });
  });
});

const STYLES =
  '<numFmts count="4"><numFmt numFmtId="164" formatCode="dd\\.mm\\.yyyy"/><numFmt numFmtId="165" formatCode="[h]:mm"/>' +
  '<numFmt numFmtId="166" formatCode="&quot;day &quot;0.00"/><numFmt numFmtId="167" formatCode="[$-407]d/m/yyyy\\ hh:mm;@"/></numFmts>' +
  '<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>' +
  `<cellXfs>${[0, 14, 164, 22, 21, 165, 166, 167].map((id) => `<xf numFmtId="${id}"/>`).join('')}</cellXfs>`;

/** A sheet of these cells, from A1 down, each with a second one behind it. */
async function cells(...given: string[]) {
  const rows = given.map((cell, at) => `<row r="${at + 1}">${cell}<c r="B${at + 1}"><v>1</v></c></row>`).join('');
  const strings = [
    '<t>one</t>',
    '<r><t xml:space="preserve">rich </t></r><r><rPr><b/></rPr><t>text</t></r><rPh><t>not this</t></rPh>',
  ];
  return async (is1904 = false) => {
    const { text } = await read(await workbook({ sheets: { One: rows }, styles: STYLES, strings, is1904 }));
    return text
      .split('\n')
      .slice(0, -1)
      .map((line) => line.replace(/,1$/, ''));
  };
}

describe('an .xlsx file', () => {
  it('has its texts, numbers, booleans and errors as Excel keeps them', async () => {
    const readCells = await cells(
      '<c t="s"><v>0</v></c>',
      '<c t="s"><v>1</v></c>',
      '<c t="inlineStr"><is><t>a &amp; b, "c"</t></is></c>',
      '<c t="inlineStr"><is><t>_x000D_ and _x005F_x000D_</t></is></c>',
      '<c t="str"><f>"a"&amp;"b"</f><v>ab</v></c>',
      '<c><v>0.1</v></c>',
      '<c><v>12345678901234567</v></c>',
      '<c><v>1.2345678901234567E+18</v></c>',
      '<c><v>1.0E-2</v></c>',
      '<c><v>1E+300</v></c>',
      '<c t="b"><v>1</v></c>',
      '<c t="b"><v>0</v></c>',
      '<c t="e"><v>#N/A</v></c>',
      '<c t="d"><v>2026-01-31</v></c>',
      '<c t="str"><f>""</f><v></v></c>',
      '<c><v>-1.2345678901234567E+20</v></c>',
      '<c><v>1E+20</v></c>',
    );
    expect(await readCells()).toEqual([
      'one',
      'rich text',
      '"a & b, ""c"""',
      '"\r and _x000D_"',
      'ab',
      '0.1',
      '12345678901234567',
      '1234567890123456700',
      '0.01',
      '1E+300',
      'true',
      'false',
      '#N/A',
      '2026-01-31',
      '',
      '-123456789012345670000',
      '100000000000000000000',
    ]);
  });

  it('has its dates in ISO 8601, by the formats of their cells', async () => {
    const readCells = await cells(
      '<c s="1"><v>46053</v></c>',
      '<c s="2"><v>1</v></c>',
      '<c s="2"><v>59</v></c>',
      '<c s="2"><v>60</v></c>',
      '<c s="2"><v>61</v></c>',
      '<c s="1"><v>46053.5</v></c>',
      '<c s="3"><v>46053</v></c>',
      '<c s="3"><v>46053.520833333336</v></c>',
      '<c s="4"><v>0.75</v></c>',
      '<c s="5"><v>1.5</v></c>',
      '<c s="6"><v>46053</v></c>',
      '<c s="7"><v>46053.999988425923</v></c>',
      '<c s="1"><v>2958465</v></c>',
      '<c s="1"><v>2958466</v></c>',
      '<c s="1"><v>-1</v></c>',
      '<c s="0"><v>46053</v></c>',
      '<c s="99"><v>46053</v></c>',
      '<c t="d" s="1"><v>2026-01-31T00:00:00</v></c>',
      '<c t="d" s="1"><v>2026-01-31T12:30:00</v></c>',
      '<c t="d" s="3"><v>2026-01-31T00:00:00</v></c>',
    );
    expect(await readCells()).toEqual([
      '2026-01-31',
      '1900-01-01',
      '1900-02-28',
      '60',
      '1900-03-01',
      '2026-01-31T12:00:00',
      '2026-01-31T00:00:00',
      '2026-01-31T12:30:00',
      '18:00:00',
      '1.5',
      '46053',
      '2026-01-31T23:59:59',
      '9999-12-31',
      '2958466',
      '-1',
      '46053',
      '46053',
      '2026-01-31',
      '2026-01-31T12:30:00',
      '2026-01-31T00:00:00',
    ]);
    expect((await readCells(true)).slice(0, 3)).toEqual(['2030-02-01', '1904-01-02', '1904-02-29']);
    // A day that a formula computed is off by a trillionth.
    expect(
      await (
        await cells('<c s="1"><v>46053.00000000001</v></c>', '<c s="1"><v>46052.99999999999</v></c>')
      )(),
    ).toEqual(['2026-01-31', '2026-01-31']);
  });

  it('has a line for each row of its sheet, also for empty ones, and a field for each column of its header', async () => {
    const rows =
      '<row r="2"><c r="A2"><v>1</v></c><c r="C2"><v>3</v></c></row>' +
      '<row r="5" spans="1:3"><c r="B5"><v>2</v></c><c r="D5" s="1"/></row>' +
      '<row><c r="E6"><v>5</v></c></row><row r="7"><c r="A7" t="inlineStr"><is><t>two\nlines</t></is></c></row>';
    expect((await read(await workbook({ sheets: { One: rows } }))).text).toBe(
      '\n1,,3\n\n\n,2,\n,,,,5\n"two\nlines",,\n',
    );
  });

  it('may be as large as Excel allows; a row over 1 MiB is one line, which its readers refuse', async () => {
    const cell = `<c t="inlineStr"><is><t>${'x'.repeat(32_765)}\n"</t></is></c>`;
    const of = async (rows: string) => (await read(await workbook({ sheets: { One: rows } }))).text;
    expect(await of(`<row>${cell}</row>`)).toBe(`"${'x'.repeat(32_765)}\n"""\n`);
    const [first, second, ...more] = (await of(`<row>${cell.repeat(40)}</row><row><c><v>1</v></c></row>`)).split('\n');
    expect([first!.length > 1024 ** 2, first!.includes('"'), second!.replaceAll(',', ''), more]).toEqual([
      true,
      false,
      '1',
      [''],
    ]);
    expect(await of('<row><c r="XFD1"><v>1</v></c></row>')).toBe(`${','.repeat(16_383)}1\n`);
  });

  it('is read from its first sheet that is not hidden, or from the one that is set', async () => {
    const sheet = (text: string) => inlineRows([[text]]);
    const file = await workbook({
      sheets: { Old: sheet('old'), Größe: sheet('first'), Third: sheet('third') },
      hidden: ['Old'],
    });
    expect(await read(file)).toMatchObject({
      text: 'first\n',
      isConverted: true,
      format: { format: 'xlsx', sheet: 'Größe', delimiter: ',' },
    });
    expect(await read(file, { sheet: 'Old' })).toMatchObject({ text: 'old\n', format: { sheet: 'Old' } });
    expect(await refusal(file, { sheet: 'third' })).toEqual({
      status: 'source_refused',
      message: 'The Excel file has "Old", "Größe", "Third", and no sheet "third": check sheet',
    });
  });

  it('has the same rows as the CSV that they came from, however its bytes are cut', async () => {
    const field = fc.oneof(fc.string({ maxLength: 8 }), fc.constantFrom('a,b', '"', 'x\ny', ' ', 'é😀'));
    const table = fc.array(fc.tuple(field, field, fc.constantFrom('end', '1')), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(table, fc.integer({ min: 1, max: 999 }), async (rows, size) => {
        const { text } = await read(await workbook({ sheets: { One: inlineRows(rows) } }), {}, { size });
        expect(text).toBe(stringify(rows, { quoted_match: /[,"\n]/, quote: '"' }));
      }),
      { numRuns: sampledRuns(50) },
    );
  });

  it('has its parts by their names in capitals or not', async () => {
    const parts = workbookParts({ sheets: { One: '<row><c t="s"><v>0</v></c></row>' }, strings: ['<t>one</t>'] });
    const { 'xl/sharedStrings.xml': strings, '_rels/.rels': relations, ...others } = parts;
    const file = await zipOf({ ...others, '_Rels/.Rels': relations!, 'xl/SharedStrings.xml': strings! });
    expect((await read(file)).text).toBe('one\n');
  });

  it('with a formula that was never computed is refused by its cell: an empty one would remove a value', async () => {
    for (const cell of [
      '<c r="AB2"><f>1+1</f></c>',
      '<c r="AB2" t="str"><f>"a"</f></c>',
      '<c r="AB2"><f>1+1</f><v/></c>',
    ]) {
      const file = await workbook({ sheets: { One: `<row r="1"><c><v>1</v></c></row><row r="2">${cell}</row>` } });
      expect((await refusal(file)).message).toMatch(
        /^The formula in the cell AB2 .* open the file in Excel, and save it$/,
      );
    }
  });

  it("has no empty cell where something stands that can't be read", async () => {
    const kinds = fc.constantFrom('s', 'b', 'n', 'd', 'e', 'str', 'inlineStr', 'x', '');
    const content = fc.oneof(
      fc.constantFrom('1', 'true', '2', '-1', 'NaN', '#N/A', ' ', '1e999', '46053.5', '2026-01-31'),
      fc.string({ unit: fc.constantFrom('1', '.', 'a', ' '), minLength: 1, maxLength: 5 }),
    );
    await fc.assert(
      fc.asyncProperty(kinds, content, fc.integer({ min: 0, max: 2 }), async (kind, text, style) => {
        const value = kind === 'inlineStr' ? `<is><t>${text}</t></is>` : `<v>${text}</v>`;
        const cell = `<c t="${kind}" s="${style}">${value}</c>`;
        const styles = '<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs>';
        const bytes = await workbook({
          sheets: { One: `${inlineRows([['id']])}<row>${cell}</row>` },
          styles,
          strings: ['<t>a</t>'],
        });
        const found = await read(bytes).catch((error: { status: string }) => error.status);
        expect(found).not.toMatchObject({ text: 'id\n\n' });
        if (typeof found === 'string') expect(found).toBe('source_refused');
        else if (kind === 'b')
          expect(found.text).toBe(`id\n${{ 1: 'true', true: 'true', 0: 'false', false: 'false' }[text] ?? text}\n`);
      }),
      { numRuns: sampledRuns(300) },
    );
  });

  it('that no Excel wrote is refused in words that say what to do', async () => {
    const parts = workbookParts({ sheets: { One: inlineRows([['a']]) } });
    const withSheet = (xml: string) => zipOf({ ...parts, 'xl/worksheets/sheet1.xml': xml });
    const rows = (xml: string) => withSheet(`<worksheet><sheetData>${xml}</sheetData></worksheet>`);
    const entity = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>';
    const bad: [Buffer, RegExp][] = [
      [
        await withSheet(`${entity}<worksheet><sheetData><row><c t="str"><v>&b;</v></c></row></sheetData></worksheet>`),
        /document type/,
      ],
      [await rows('<row><c t="str"><v>&b;</v></c></row>'), /no XML/],
      [await rows('<row><c>'), /no XML/],
      [await withSheet('<a>'.repeat(65) + '</a>'.repeat(65)), /nested too deeply/],
      [await rows(`<row><c t="str"><v>${'x'.repeat(32_768)}</v></c></row>`), /over 32,767 characters/],
      [await rows(`<!--${' >'.repeat(MIB)}--><row/>`), /text of over 1 MiB/],
      [await rows('<row r="2"/><row r="2"/>'), /rows out of order/],
      [await rows('<row r="1048577"/>'), /rows out of order/],
      [await rows('<row><c r="B1"/><c r="A1"/></row>'), /cells out of order/],
      [await rows('<row><c r="XFE1"/></row>'), /cells out of order/],
      [await rows('<row><c t="s"><v>0</v></c></row>'), /names a text that is not there/],
    ];
    for (const [file, message] of bad) expect((await refusal(file)).message).toMatch(message);
    expect((await read(await rows('<row r="1048576"><c r="XFC1048576"><v>1</v></c></row>'))).text).toMatch(
      /^\n{1048575},{16382}1\n$/,
    );
    delete parts['xl/worksheets/sheet1.xml'];
    expect((await refusal(await zipOf(parts))).message).toMatch(/sheet1\.xml is not there/);
    expect((await refusal(await zipOf({ '[Content_Types].xml': '', 'word/document.xml': '' }))).message).toMatch(
      /no Excel workbook/,
    );
    const old = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(1000)]);
    expect((await refusal(old)).message).toMatch(/old Excel \(\.xls\), or protected by a password: save it as \.xlsx/);
  });

  it('takes memory that its size does not decide', async () => {
    const texts = 400_000;
    const strings = Array.from({ length: texts }, (_, at) => `<t>text ${at}</t>`);
    const rows = Array.from({ length: texts }, (_, at) => `<row><c t="s"><v>${texts - 1 - at}</v></c></row>`).join('');
    const file = await workbook({ sheets: { One: rows }, strings });
    let lines = 0;
    let last = '';
    let measured = 0;
    let peak = 0;
    const before = heldBytes();
    const { chunks } = await canonicalFile(
      pieces(file, 64 * 1024),
      {},
      { scratch, signal: AbortSignal.timeout(HANGS_MS) },
    );
    for await (const chunk of chunks) {
      lines += chunk.toString().split('\n').length - 1;
      last = chunk.toString();
      // Without its garbage, which a busy machine collects late.
      if (lines >= measured + texts / 16) {
        measured = lines;
        peak = Math.max(peak, heldBytes() - before);
      }
    }
    expect(measured).toBeGreaterThan(0);
    expect([lines, last.endsWith('text 1\ntext 0\n')]).toEqual([texts, true]);
    expect(peak).toBeLessThan(60 * MIB);
  });
});

describe('a zip file', () => {
  it('with one file is opened, be it of text or .xlsx, and whatever macOS has put beside it', async () => {
    const csv = 'user_id;value\n1;2\n';
    const zip = await zipOf({ 'values.csv': csv, '__MACOSX/._values.csv': 'x', '.DS_Store': 'x' });
    expect(await read(zip)).toMatchObject({
      text: csv,
      isConverted: true,
      format: { format: 'csv', delimiter: ';', isZip: true },
    });
    const excel = await zipOf({ 'values.xlsx': await workbook({ sheets: { One: inlineRows([['a', 'b']]) } }) });
    expect(await read(excel)).toMatchObject({ text: 'a,b\n', format: { format: 'xlsx', isZip: true } });
    const utf16 = await zipOf({ 'values.txt': Buffer.from('\ufeffa\tb\n', 'utf16le') });
    expect(await read(utf16)).toMatchObject({ text: 'a\tb\n', format: { encoding: 'utf-16le', delimiter: '\t' } });
  });

  it('with none, with more than one, or with another is refused by what it holds', async () => {
    const messages: [Buffer, string][] = [
      [await zipOf({}), 'The zip file holds no file: it must hold exactly one'],
      [
        await zipOf({ 'a.csv': '', 'b.csv': '' }),
        'The zip file holds 2 files ("a.csv", "b.csv"): it must hold exactly one',
      ],
      [
        await zipOf({ 'a.zip': await zipOf({ 'a.csv': 'x' }) }),
        'The zip file holds another zip file: it must hold one file of CSV or .xlsx',
      ],
    ];
    const many = Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`${at}.csv`, '']));
    const long = Object.fromEntries(Array.from({ length: 70 }, (_, at) => [`${'x'.repeat(60_000)}${at}`, '']));
    for (const files of [many, long])
      expect((await refusal(await zipOf(files))).message).toMatch(/holds too many files/);
    for (const [file, message] of messages) expect(await refusal(file)).toEqual({ status: 'source_refused', message });
  });

  it('is unpacked no further once its reader has gone, or ends its reading', async () => {
    const file = await zipOf({ 'a.csv': 'x,1\n'.repeat(1_000_000) });
    const late = new AbortController();
    const { chunks } = await canonicalFile(pieces(file, 1000), {}, { scratch, signal: late.signal });
    await chunks.next();
    late.abort(new Error('time is up'));
    await expect(Array.fromAsync(chunks)).rejects.toThrow('time is up');
    await expect(canonicalFile(pieces(file, 1000), {}, { scratch, signal: late.signal })).rejects.toThrow('time is up');
    expect(await readdir(scratch)).toEqual([]);
  });

  it('that is cut off, corrupt, or beyond the limit is refused, and what was unpacked is gone', async () => {
    const file = await zipOf({ 'a.csv': `user_id\n${'1,2\n'.repeat(10_000)}` });
    expect(await refusal(file.subarray(0, -30))).toEqual({
      status: 'transfer_broken',
      message: 'The zip file is cut off: its end is missing',
    });
    const damaged = Buffer.from(file);
    damaged.fill(0xff, 60, 70);
    const message =
      'The file is corrupt: a checksum or a length within it (.zip, .xlsx) is wrong. Have it written anew';
    const corrupt = { status: 'source_refused', message };
    expect(await refusal(damaged)).toEqual(corrupt);
    for (const parts of [
      { 'a.csv': 'user_id,a\n1,2\n' },
      workbookParts({ sheets: { One: inlineRows([['a', '1']]) } }),
    ]) {
      const other = await zipOf(parts);
      // The checksum in the list at the end of the file, of the last file in it.
      const place = other.lastIndexOf(Buffer.from([0x50, 0x4b, 0x01, 0x02])) + 16;
      other[place]! ^= 1;
      let rows = 0;
      const reading = canonicalFile(pieces(other, 1000), {}, { scratch, signal: AbortSignal.timeout(HANGS_MS) }).then(
        async ({ chunks }) => {
          for await (const chunk of chunks) rows += chunk.length;
        },
      );
      await expect(reading).rejects.toMatchObject(corrupt);
      expect(rows).toBe(0);
    }
    expect((await read(file, {}, { maxBytes: 40_008 })).text).toHaveLength(40_008);
    expect(await refusal(file, {}, { maxBytes: 40_007 })).toMatchObject({ status: 'too_large' });
    const rows = inlineRows(Array.from({ length: 1000 }, () => ['x'.repeat(1000)]));
    const sheet = await workbook({ sheets: { One: rows } });
    expect(await refusal(sheet, {}, { maxBytes: 1_000_000 })).toMatchObject({ status: 'too_large' });
  });
});

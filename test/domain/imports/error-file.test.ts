import { Buffer } from 'node:buffer';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { recordBytes } from '../../../domain/csv/csv-pieces.ts';
import { parseRun } from '../../../domain/csv/csv-records.ts';
import { createCsvSplitter } from '../../../domain/csv/csv-splitter.ts';
import { errorFileHeader, errorFileRow, originalLine, rowFields } from '../../../domain/imports/error-file.ts';
import type { ImportErrorType } from '../../../domain/imports/import-error-type.ts';
import type { ImportError } from '../../../domain/imports/import-error.ts';
import { badRecordFailure, type ImportFormat, parseHeader } from '../../../domain/imports/import-file.ts';
import { checkRow } from '../../../domain/imports/import-row.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const PLAIN: ImportFormat = { version: 'v3', columns: 4, hasErrorColumns: false };
const WITH_ERRORS: ImportFormat = { ...PLAIN, hasErrorColumns: true };

/** The rows of a file are checked against a SoR without attributes: every one of them is refused. */
const RULES = { attributes: new Map(), sorDisabled: false };

function errorOf(line: number, raw: string | null, errorType: ImportErrorType, message = 'as it was'): ImportError {
  return {
    line,
    errorType,
    outcome: 'failed',
    stage: 'parsing',
    message,
    customerId: null,
    attributeKey: null,
    raw,
    originalLine: null,
    customerHash: null,
  };
}

/** A NUL can't be stored. */
const storable = (bytes: Buffer) => bytes.toString().replaceAll('\0', '\ufffd');

/** Splits a file, and tells of each record its line, its text as it is kept, and its fields, if it has any. */
function* readRecords(file: string | Buffer) {
  const splitter = createCsvSplitter({ maxRunBytes: 1024 });
  for (const piece of [...splitter.push(Buffer.from(file)), ...splitter.end()]) {
    if (piece.kind === 'bad') {
      yield { line: piece.line, text: storable(piece.sample), fields: null, failure: badRecordFailure(piece.reason) };
    } else {
      for (const [at, record] of parseRun(piece).entries()) {
        const fields = Array.isArray(record) ? record : null;
        const failure = Array.isArray(record) ? null : record;
        yield { line: piece.lines[at]!, text: storable(recordBytes(piece, at)), fields, failure };
      }
    }
  }
}

/** What an import into a SoR without attributes leaves of the records of a file that has no header. */
function importErrors(file: string | Buffer, format: ImportFormat): ImportError[] {
  return [...readRecords(file)].map(({ line, text, fields, failure }) => {
    const own = fields && rowFields(fields, format);
    const outcome = failure ?? (Array.isArray(own) ? checkRow(own, { ...format, ...RULES }) : own)!;
    if (!('errorType' in outcome)) throw new Error('the row was not refused');
    return errorOf(line, text, outcome.errorType, outcome.message);
  });
}

function writeErrorFile(errors: ImportError[], format: ImportFormat): string {
  const rows = errors.map((error) => errorFileRow(error, format)).filter((row) => row !== null);
  return stringify([errorFileHeader(format), ...rows]);
}

/** The records of an error file after its header, which has to say what the file is. */
function readErrorFile(file: string, expected: ImportFormat) {
  const splitter = createCsvSplitter({ maxRunBytes: 1024 });
  const [first] = [...splitter.push(Buffer.from(file)), ...splitter.end()];
  const header = parseHeader(first, expected.version);
  expect(header).toMatchObject({ ok: true, format: expected });
  return [...readRecords(file)].slice(1).map((record) => {
    expect(record.fields).not.toBeNull();
    return record.fields!;
  });
}

const text = fc.string({
  unit: fc.constantFrom('a', 'é', '😀', '"', '""', ',', ';', '\n', '\r\n', '\r', ' ', '\0', '\ufeff', '\ufffd', '='),
  maxLength: 6,
});
const written = fc.array(text, { minLength: 1, maxLength: 6 }).map((fields) => stringify([fields]));
/** What no CSV writer wrote, among it quotes that stay open over several lines. */
const scribbled = fc.array(text, { maxLength: 6 }).map((parts) => `${parts.join(',')}\n`);
const anyFile = fc.array(fc.oneof(written, scribbled), { maxLength: 8 }).map((lines) => `x\n${lines.join('')}`);
const format = fc.constantFrom<ImportFormat[]>(
  PLAIN,
  { ...PLAIN, columns: 3 },
  { version: 'v2', columns: 3, hasErrorColumns: false },
);

describe('an error file', () => {
  test('read back gives every row as it was first read', () => {
    fc.assert(
      fc.property(anyFile, format, (file, first) => {
        fc.pre(!file.includes('"\0')); // csv-parse takes a NUL after a closing quote, but not what replaces it
        const errors = importErrors(file, first);
        const again = { ...first, hasErrorColumns: true };
        const rows = readErrorFile(writeErrorFile(errors, first), again);
        const records = [...readRecords(file)];
        expect(rows.map((row) => originalLine(row, again))).toEqual(records.map(({ line }) => line));
        for (const [at, { fields, text: kept }] of records.entries()) {
          const isSound = fields?.length === first.columns;
          if (isSound)
            expect(rowFields(rows[at]!, again)).toEqual(fields.map((field) => field.replaceAll('\0', '\ufffd')));
          else expect([rows[at]!.slice(0, first.columns).join(''), rows[at]!.at(-1)]).toEqual(['', kept]);
          if (!isSound)
            expect(rowFields(rows[at]!, again)).toMatchObject({ kind: 'failed', errorType: 'PARSING_FAILED' });
        }
      }),
      { numRuns: sampledRuns(1000) },
    );
  });

  test('of an error file that was imported unchanged holds the same rows, with the lines of the first file', () => {
    fc.assert(
      fc.property(anyFile, (file) => {
        const first = writeErrorFile(importErrors(file, PLAIN), PLAIN);
        const body = first.slice(first.indexOf('\n') + 1);
        const second = writeErrorFile(importErrors(body, WITH_ERRORS), WITH_ERRORS);
        const shown = (errorFile: string) =>
          readErrorFile(errorFile, WITH_ERRORS).map((row) => [...row.slice(0, 5), row.at(-1)]);
        expect(shown(second)).toEqual(shown(first));
      }),
      { numRuns: sampledRuns(300) },
    );
  });

  test('shows a row in its columns, or in original where it has none', () => {
    expect(errorFileHeader({ columns: 4 }).join()).toBe(
      'user_id,attribute_key,value,action_type,line,error_type,reason,original',
    );
    expect(errorFileHeader({ columns: 3 }).join()).toBe('user_id,attribute_key,value,line,error_type,reason,original');
    expect(errorFileRow(errorOf(2, 'u,k,"a,b",ADD', 'INVALID_VALUE', 'why'), PLAIN)).toEqual([
      'u',
      'k',
      'a,b',
      'ADD',
      '2',
      'INVALID_VALUE',
      'why',
      '',
    ]);
    expect(errorFileRow(errorOf(3, 'u,k,a,b,ADD', 'PARSING_FAILED', 'why'), PLAIN)).toEqual([
      '',
      '',
      '',
      '',
      '3',
      'PARSING_FAILED',
      'why',
      'u,k,a,b,ADD',
    ]);
    expect(errorFileRow(errorOf(4, 'u,k,caf\ufffd,', 'FILE_ENCODING', 'why'), PLAIN)).toEqual([
      '',
      '',
      '',
      '',
      '4',
      'FILE_ENCODING',
      'why',
      'u,k,caf\ufffd,',
    ]);
  });

  test('leaves out erased people and the error of the file as a whole', () => {
    const erased = { ...errorOf(2, null, 'INVALID_CUSTOMER_ID', 'erased'), customerHash: Buffer.alloc(32) };
    expect(errorFileRow(erased, PLAIN)).toBeNull();
    expect(errorFileRow({ ...errorOf(2, '', 'PARSING_FAILED', 'erased'), isErased: true }, PLAIN)).toBeNull();
    expect(errorFileRow(errorOf(2, 'a', 'PARSING_FAILED', 'erased'), PLAIN)).not.toBeNull();
    expect(errorFileRow(errorOf(0, null, 'FILE_TRANSFER_ERROR'), PLAIN)).toBeNull();
  });

  test('shows nothing of a record that was not kept whole, and sends to the file that has it', () => {
    const { errorType, message } = badRecordFailure('too_long');
    for (const error of [
      errorOf(7, 'u,k,beginning', errorType, message),
      errorOf(7, 'u,k,cut of', 'FILE_TRANSFER_ERROR', 'the file breaks off in this line'),
    ]) {
      const row = errorFileRow(error, { columns: 3, hasErrorColumns: false })!;
      expect(row.toSpliced(5, 1)).toEqual(['', '', '', '7', error.errorType, '']);
      expect(row[5]).toBe(`${error.message}: correct it in the file that was imported, at line 7`);
      expect(rowFields(row, { ...PLAIN, columns: 3, hasErrorColumns: true })).toMatchObject({
        errorType: 'PARSING_FAILED',
        message: expect.stringContaining('nothing to import'),
      });
    }
  });
});

describe('a row of a corrected error file', () => {
  const tail = (original: string, errorType = 'PARSING_FAILED') => ['7', errorType, 'why', original];

  test('is what its columns hold, else what original holds', () => {
    expect(rowFields(['u', 'k', 'v', '', ...tail('')], WITH_ERRORS)).toEqual(['u', 'k', 'v', '']);
    expect(rowFields(['u', 'k', 'v', '', ...tail('x,y,z,')], WITH_ERRORS)).toEqual(['u', 'k', 'v', '']);
    expect(rowFields(['', '', '', '', ...tail('x,y,"1\n2",\n')], WITH_ERRORS)).toEqual(['x', 'y', '1\n2', '']);
    expect(rowFields(['', '', '', '', ...tail(',,,')], WITH_ERRORS)).toEqual(['', '', '', '']);
  });

  test.each([
    ['', 'nothing to import in this line: fill in the columns, or original'],
    ['a,b,c,d\ne,f,g,h', 'the column original: it holds more than one record'],
    ['\n', 'the column original: it holds no record'],
    ['a,"b', 'the column original: a quote opens a field that is not closed'],
    ['a,"b"c', 'the column original: a closing quote is followed by more'],
    ['a,b', 'the record in original has 2 columns instead of 4 (user_id,attribute_key,value,action_type)'],
  ])('that can’t be read says so: %j', (original, message) => {
    expect(rowFields(['', '', '', '', ...tail(original)], WITH_ERRORS)).toMatchObject({
      kind: 'failed',
      errorType: 'PARSING_FAILED',
      message: expect.stringContaining(message),
    });
  });

  test('with another number of columns is told how many the file has', () => {
    for (const fields of [
      ['u', 'k', 'v', ''],
      ['u', 'k', 'v', '', ...tail(''), 'x'],
    ]) {
      expect(rowFields(fields, WITH_ERRORS)).toMatchObject({
        errorType: 'PARSING_FAILED',
        message: expect.stringMatching(/^the line has \d columns instead of 8 \(user_id,.*,original\)$/),
      });
      expect(originalLine(fields, WITH_ERRORS)).toBeNull();
    }
  });

  test('whose text was not UTF-8 counts once nothing of the damage is left', () => {
    for (const damaged of [
      ['', '', '', '', ...tail('u,k,caf\ufffd,', 'FILE_ENCODING')],
      ['u', 'k', 'caf\ufffd', '', ...tail('', 'FILE_ENCODING')],
    ])
      expect(rowFields(damaged, WITH_ERRORS)).toMatchObject({ kind: 'failed', errorType: 'FILE_ENCODING' });
    expect(rowFields(['', '', '', '', ...tail('u,k,café,', 'FILE_ENCODING')], WITH_ERRORS)).toEqual([
      'u',
      'k',
      'café',
      '',
    ]);
    expect(rowFields(['u', 'k', '\ufffd', '', ...tail('', 'INVALID_VALUE')], WITH_ERRORS)).toEqual([
      'u',
      'k',
      '\ufffd',
      '',
    ]);
  });

  test('tells the line it corrects where one stands', () => {
    const line = (written: string) => originalLine(['u', 'k', 'v', '', written, 'x', '', ''], WITH_ERRORS);
    expect(line('12')).toBe(12);
    for (const other of ['', '0', '-1', '1.5', 'x', '1'.repeat(30)]) expect(line(other)).toBeNull();
    expect(originalLine(['u', 'k', 'v', ''], PLAIN)).toBeNull();
  });
});

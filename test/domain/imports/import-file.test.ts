import { Buffer } from 'node:buffer';
import { stringify } from 'csv-stringify/sync';
import { describe, expect, test } from 'vitest';
import type { Run } from '../../../domain/csv/csv-pieces.ts';
import { parseRun } from '../../../domain/csv/csv-records.ts';
import { createCsvSplitter } from '../../../domain/csv/csv-splitter.ts';
import {
  badRecordFailure,
  parseHeader,
  templateRows,
  type ImportVersion,
} from '../../../domain/imports/import-file.ts';
import { checkRow } from '../../../domain/imports/import-row.ts';

function header(file: string | Buffer, version: ImportVersion = 'v2') {
  const splitter = createCsvSplitter();
  const [first] = [...splitter.push(Buffer.from(file)), ...splitter.end()];
  return parseHeader(first, version);
}

describe('the header of an import', () => {
  test('may be that of an error file', () => {
    const after = 'line,error_type,reason,original';
    expect(header(`user_id,attribute_key,value,${after}\n`)).toMatchObject({
      ok: true,
      format: { version: 'v2', columns: 3, hasErrorColumns: true },
    });
    expect(header(`user_id,attribute_key,value,action_type,Line, Error_Type ,REASON,original\n`)).toMatchObject({
      ok: true,
      format: { version: 'v3', columns: 4, hasErrorColumns: true },
    });
    expect(header(`user_id,attribute_key,value,line,error_type,reason\n`)).toMatchObject({ ok: false });
    expect(header(`user_id,attribute_key,value,${after},x\n`)).toMatchObject({ ok: false });
  });

  test('decides how the file is read', () => {
    const v3 = { version: 'v3', columns: 4, hasErrorColumns: false };
    expect(header('user_id,attribute_key,value\nu,k,v')).toEqual({
      ok: true,
      format: { version: 'v2', columns: 3, hasErrorColumns: false },
      offset: 28,
      line: 2,
    });
    expect(header('user_id,attribute_key,value,action_type\n')).toMatchObject({ ok: true, format: v3 });
    expect(header('user_id,attribute_key,value,action_type\n', 'v3')).toMatchObject({ ok: true, format: v3 });
    expect(header('user_id,attribute_key,value\n', 'v3')).toMatchObject({ ok: true, format: { ...v3, columns: 3 } });
  });

  test('may come after a BOM and empty lines, in quotes, other case and with spaces around', () => {
    expect(header('\ufeff\r\n\n"User_ID", ATTRIBUTE_KEY ,value\r\n\nu,k,v')).toMatchObject({
      ok: true,
      offset: 40,
      line: 5,
    });
    expect(header('user_id,attribute_key,value')).toMatchObject({ ok: true, offset: 27 });
  });

  test.each([
    ['an empty file', '', 'the file is empty'],
    ['a file of a BOM and empty lines', '\ufeff\n\r\n', 'the file is empty'],
    ['another order', 'attribute_key,user_id,value\n', '"attribute_key,user_id,value"'],
    ['a further column', 'user_id,attribute_key,value,action_type,x\n', 'action_type,x'],
    ['a missing column', 'user_id,attribute_key\n', '"user_id,attribute_key"'],
    ['other separators', 'user_id;attribute_key;value\n', '"user_id;attribute_key;value"'],
    ['no header', 'u1,email,a@example.com\n', '"u1,email,a@example.com"'],
    ['a broken quote', 'user_id,"attribute_key"x,value\n', 'the first line is'],
    ['a stray quote', 'user_id,"attribute_key,value\nu,k,v\n', 'the first line begins "user_id,"attribute_key,value"'],
    ['a line beyond 1 MiB', 'x'.repeat(1024 * 1024 + 1), 'longer than 1 MiB'],
    ['CR alone as line end', 'user_id,attribute_key,value\ru,k,v\r', 'not in CR alone'],
    ['a NUL', 'user_id\0', '"user_id\ufffd"'],
  ])('fails the file: %s', (_, file, message) => {
    const reading = header(file);
    expect(reading).toMatchObject({ ok: false, errorType: 'PARSING_FAILED' });
    for (const part of [message, 'user_id,attribute_key,value,action_type']) {
      expect(reading).toMatchObject({ message: expect.stringContaining(part) });
    }
  });

  test('of a table names its columns and how to map them, and for a sheet how to choose another', () => {
    const [first] = createCsvSplitter().push(Buffer.from('email, plan ,,orders,\n'));
    const hint =
      '. If it is a table with a column for each attribute, here "email", "plan", "orders", set columns ' +
      '(millrace import with --customer and --map)';
    const reading = parseHeader(first, 'v3');
    expect(reading).toEqual({
      ok: false,
      errorType: 'PARSING_FAILED',
      message: expect.stringContaining(`action_type${hint}`),
    });
    expect(parseHeader(first, 'v3', { isSheet: true })).toMatchObject({
      message: expect.stringContaining(`${hint}. If the rows stand in another sheet, set sheet`),
    });
    expect(header('email\n')).not.toMatchObject({ message: expect.stringContaining('--map') });
  });

  test('names the encoding when that is what is wrong', () => {
    expect(header(Buffer.from('user_id,é\n', 'latin1'))).toMatchObject({
      ok: false,
      errorType: 'FILE_ENCODING',
      message: expect.stringMatching(/not UTF-8.*setting encoding, such as windows-1252/),
    });
  });
});

describe('the template of an import', () => {
  const KEYS = ['plan', 'a,b', 'say "x"', 'two\nlines', '; é😀'];

  test.each([
    ['v2' as const, 'user_id,attribute_key,value\n,plan,\n,"a,b",\n'],
    ['v3' as const, 'user_id,attribute_key,value,action_type\n,plan,,\n,"a,b",,\n'],
  ])('of %s, imported unchanged, only lacks its customers', (version, begins) => {
    const file = stringify(templateRows(version, KEYS));
    expect(file.startsWith(begins)).toBe(true);
    const splitter = createCsvSplitter();
    const [run, ...rest] = [...splitter.push(Buffer.from(file)), ...splitter.end()] as [Run];
    expect(rest).toEqual([]);
    const reading = parseHeader(run, version);
    if (!reading.ok) throw new Error(reading.message);
    const attributes = new Map(
      KEYS.map((key, id) => [key, { id, key, valueType: 'String' as const, disabled: false }]),
    );
    const context = { ...reading.format, attributes, sorDisabled: false };
    const outcomes = parseRun(run)
      .slice(1)
      .map((record) => checkRow(record as string[], context));
    expect(outcomes).toEqual(KEYS.map((key) => expect.objectContaining({ errorType: 'INVALID_CUSTOMER_ID', key })));
  });
});

test('a record that was set aside has the error type of its reason', () => {
  expect(badRecordFailure('too_long').errorType).toBe('PARSING_FAILED');
  expect(badRecordFailure('stray_quote').errorType).toBe('PARSING_FAILED');
  expect(badRecordFailure('not_utf8').errorType).toBe('FILE_ENCODING');
});

import { describe, expect, test } from 'vitest';
import type { ImportError } from '../../api/client.ts';
import { parseRecord } from '../../domain/csv/csv-records.ts';
import {
  correctedFile,
  type Refused,
  refusedOf,
  sharedMistakes,
  wrongCell,
} from '../../web/pages/imports/corrections.ts';

const ERROR: ImportError = {
  error_type: 'INVALID_VALUE',
  customer_id: 'c-1',
  key: 'score',
  sor: 'sor_1',
  date: '2026-11-24T00:00:00.000Z',
  source: 'validation',
  message: '"41,90" is not a number as JSON writes it',
  raw: null,
  line: 7,
  column: null,
  redriven_by: null,
  cells: ['007', 'score', '41,90', '', '7', 'INVALID_VALUE', 'no number', ''],
};

const refused = (changed: Partial<ImportError> = {}): Refused => refusedOf({ ...ERROR, ...changed })!;

describe('corrected rows', () => {
  test('are written as the error file has them, each text as it was typed', async () => {
    const row = refused();
    const cells = [' 007', 'score', 'a;b "c"\r\nd', ''];
    const text = await correctedFile([{ row, cells }], ';').text();
    const [header, ...rest] = text.split('\r\n');
    expect(header).toBe('user_id;attribute_key;value;action_type;line;error_type;reason;original');
    expect(parseRecord(rest.join('\r\n').trimEnd(), ';')).toEqual([...cells, '7', 'INVALID_VALUE', 'no number', '']);
  });

  test('that could not be cut into columns stand in `original`', async () => {
    const row = refused({ cells: ['', '', '', '', '9', 'PARSING_FAILED', 'no CSV', 'c-1,plan'] });
    expect([row.was, wrongCell(row)]).toEqual([['c-1,plan'], 0]);
    const [, record] = (await correctedFile([{ row, cells: ['c-1,plan,gold,'] }], ',').text()).split('\r\n');
    expect(parseRecord(record!)).toEqual(['', '', '', '', '9', 'PARSING_FAILED', 'no CSV', 'c-1,plan,gold,']);
  });

  test('that are not in the error file are not shown, and ones not kept whole have no text', () => {
    expect(refusedOf({ ...ERROR, cells: null })).toBeNull();
    expect(refused({ cells: ['', '', '', '', '9', 'PARSING_FAILED', 'too long', ''] }).was).toEqual([]);
  });
});

describe('mistakes that rows share', () => {
  const turned = (error_type: ImportError['error_type'], message: string, cell: number, texts: string[]) => {
    const rows = texts.map((text, line) => {
      const cells = ['c-1', 'score', '', '', String(line), '', '', ''].map((old, at) => (at === cell ? text : old));
      return refused({ error_type, message, line, cells });
    });
    return sharedMistakes(rows, ({ was }, at) => was[at]).map(({ says, ids, turn }) => [
      says,
      ids.map((id) => turn(texts[Number(id)]!)),
    ]);
  };

  test('are named with what turns them, and leave other texts alone', () => {
    expect(turned('INVALID_VALUE', 'is not a number', 2, ['41,90', '1.234,5', '1,5,0', 'many'])).toEqual([
      ['have a decimal comma', ['41.90', '1234.5']],
    ]);
    expect(turned('INVALID_VALUE', 'is not a number', 2, ['12 400', "1'000.5", '12 40'])).toEqual([
      ['have spaces or apostrophes between thousands', ['12400', '1000.5']],
    ]);
    expect(turned('INVALID_VALUE', 'is no day written as', 2, ['4.1.2026', '24.11.2026', '24/11/2026'])).toEqual([
      ['have a day as DD.MM.YYYY', ['2026-01-04', '2026-11-24']],
    ]);
    expect(turned('INVALID_VALUE', 'is none of true', 2, ['yes', 'NO', 'perhaps'])).toEqual([
      ['have another word for true or false', ['true', 'false']],
    ]);
    expect(turned('INVALID_ACTION', 'no action', 3, ['add', 'Upsert', 'merge'])).toEqual([
      ['have an action that is not in capitals', ['ADD', 'UPSERT']],
    ]);
  });

  test('of one row alone are corrected by hand', () => {
    expect(turned('INVALID_VALUE', 'is not a number', 2, ['41,90'])).toEqual([]);
  });
});

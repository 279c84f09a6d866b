import { parse } from 'csv-parse/sync';
import { describe, expect, test } from 'vitest';
import type { ImportError } from '../../../domain/imports/import-error.ts';
import { badRecordFailure } from '../../../domain/imports/import-file.ts';
import { write } from '../../../store/core/database.ts';
import { insertImportErrors } from '../../../store/imports/import-errors.ts';
import type { Import } from '../../../store/imports/imports.ts';
import { personId } from '../../harness/core/people.ts';
import { makeWorld } from '../../harness/core/world.ts';
import { insertUpload } from '../../harness/imports/imports.ts';
import { useServer } from '../http/use-server.ts';

const HEADER = ['user_id', 'attribute_key', 'value', 'action_type', 'line', 'error_type', 'reason', 'original'];
const ERROR: ImportError = {
  line: 2,
  errorType: 'INVALID_VALUE',
  outcome: 'failed',
  stage: 'validation',
  message: '"x, y" is no number',
  customerId: personId(1),
  attributeKey: 'score',
  raw: `${personId(1)},score,"x, y",ADD`,
  originalLine: null,
  customerHash: null,
};
const UNREADABLE: ImportError = {
  ...ERROR,
  errorType: 'PARSING_FAILED',
  stage: 'parsing',
  message: 'a stray quote',
  customerId: null,
  attributeKey: null,
};

const { store, server, world } = useServer();

async function importWith(errors: ImportError[]): Promise<Import> {
  return write(store.db, async (tx) => {
    const job = await insertUpload(tx, store, world);
    await insertImportErrors(tx, world.entity.id, job.id, errors);
    return job;
  });
}

const get = ({ identifier }: Import, query = '') =>
  server.call('GET', `/api/attribute_values/imports/${identifier}/errors.csv${query}`, { token: world.token });

const rowsOf = (text: string) => parse(text) as string[][];

describe('the error file of an import', () => {
  test('is a file to save, with every refused row, what was wrong with it, and where', async () => {
    const { errorType, message } = badRecordFailure('too_long');
    const job = await importWith([
      { ...ERROR, line: 0, errorType: 'FILE_TRANSFER_ERROR', raw: null, customerId: null, attributeKey: null },
      ERROR,
      { ...ERROR, line: 3, errorType: 'UNDEFINED_ATTRIBUTE', outcome: 'ignored', message: 'unknown', raw: 'a,b,c,' },
      { ...UNREADABLE, line: 4, raw: 'é,"k,v\r' },
      {
        ...ERROR,
        line: 5,
        errorType: 'INVALID_CUSTOMER_ID',
        message: 'erased',
        customerId: null,
        raw: null,
        customerHash: Buffer.alloc(32),
      },
      { ...UNREADABLE, line: 6, errorType, message, raw: 'the beginning' },
    ]);
    const file = await get(job);
    expect([file.status, file.headers['content-type']]).toEqual([200, 'text/csv; charset=utf-8']);
    expect(file.headers['content-disposition']).toBe(`attachment; filename="errors-${job.identifier}.csv"`);
    expect(rowsOf(file.text)).toEqual([
      HEADER,
      [personId(1), 'score', 'x, y', 'ADD', '2', 'INVALID_VALUE', '"x, y" is no number', ''],
      ['a', 'b', 'c', '', '3', 'UNDEFINED_ATTRIBUTE', 'unknown', ''],
      ['', '', '', '', '4', 'PARSING_FAILED', 'a stray quote', 'é,"k,v\r'],
      [
        '',
        '',
        '',
        '',
        '6',
        'PARSING_FAILED',
        expect.stringContaining('correct it in the file that was imported, at line 6'),
        '',
      ],
    ]);
    const ofType = rowsOf((await get(job, '?error_type=UNDEFINED_ATTRIBUTE')).text);
    expect(ofType.map((row) => row[4])).toEqual(['line', '3']);
  });

  test('of an import without errors is its header', async () => {
    expect((await get(await importWith([]))).text).toBe(`${HEADER.join()}\n`);
  });

  test('comes whole, whatever the number and length of the rows', async () => {
    const short = Array.from({ length: 50_000 }, (_, at) => ({ ...ERROR, line: at + 2 }));
    const long = Array.from({ length: 12 }, (_, at) => ({
      ...UNREADABLE,
      line: at + 60_000,
      raw: `"${'x'.repeat(1024 ** 2 - 1)}`,
    }));
    const rows = rowsOf((await get(await importWith([...short, ...long]))).text);
    expect(rows.slice(1).map((row) => Number(row[4]))).toEqual([...short, ...long].map(({ line }) => line));
    expect(rows.slice(-12).every((row) => row[7] === long[0]!.raw)).toBe(true);
  });

  test('is its entity’s alone, and who read it stands in the audit log', async () => {
    const job = await importWith([ERROR]);
    const stranger = await makeWorld(store);
    const refused = await server.call('GET', `/api/attribute_values/imports/${job.identifier}/errors.csv`, {
      token: stranger.token,
    });
    expect([refused.status, refused.body.error_message]).toEqual([404, 'Import not found']);
    await get(job);
    const { rows } = await store.db.query('SELECT entity_id, action, actor_id FROM audit_log WHERE subject = $1', [
      job.identifier,
    ]);
    expect(rows).toEqual([{ entity_id: world.entity.id, action: 'read', actor_id: world.user.id }]);
  });
});

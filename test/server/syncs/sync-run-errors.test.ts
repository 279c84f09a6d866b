import { describe, expect, test } from 'vitest';
import { erasedError } from '../../../domain/gdpr/erased-error.ts';
import { write } from '../../../store/core/database.ts';
import { updateErrorsRedriven } from '../../../store/imports/import-errors.ts';
import { insertLogLines } from '../../../store/syncs/sync-log.ts';
import type { SyncRun } from '../../../store/syncs/sync-run-record.ts';
import { findRun, insertRun } from '../../../store/syncs/sync-runs.ts';
import { personId } from '../../harness/core/people.ts';
import { runError } from './sample-sync.ts';
import { refusalOf, resultOf, useSyncs } from './use-syncs.ts';

const { store, world, createdId, get, post, stored, endedRun, audited, connections } = useSyncs();

const found = async (id: string) => (await findRun(store.db, world.entity.id, id))!;

describe('errors of a run', () => {
  const [one, other] = [personId(11), personId(12)];
  const unknown = { ...runError(2, other), errorType: 'UNDEFINED_ATTRIBUTE', outcome: 'ignored' } as const;
  const ofErased = erasedError(3, Buffer.alloc(32, 7));

  test('are listed with their records, and filtered by type, customer, and whether they are open', async () => {
    const id = await createdId();
    const run = await endedRun(id, {
      counts: { ignored: 1, failed: 2 },
      errors: [runError(1, one), unknown, ofErased],
    });
    const path = `/${id}/runs/${run.identifier}`;
    const lines = async (query: string) =>
      resultOf(await get(`${path}/errors?${query}`)).errors.map(({ line }: { line: number }) => line);
    expect(resultOf(await get(`${path}/errors`)).errors).toEqual([
      {
        line: 1,
        error_type: 'INVALID_VALUE',
        outcome: 'failed',
        message: 'is no number',
        customer_id: one,
        record_key: null,
        key: 'score',
        record: JSON.stringify({ email: one, score: 'many' }),
        date: expect.any(String),
        redriven_by: null,
      },
      expect.objectContaining({ line: 2, error_type: 'UNDEFINED_ATTRIBUTE', outcome: 'ignored', customer_id: other }),
      expect.objectContaining({ line: 3, message: 'erased', customer_id: null, record: null }),
    ]);
    expect(await lines('error_type=UNDEFINED_ATTRIBUTE')).toEqual([2]);
    expect(await lines(`customer_id=${one}`)).toEqual([1]);
    expect([await lines('limit=2'), await lines('limit=2&after=2'), await lines('after=3')]).toEqual([[1, 2], [3], []]);
    const again = await endedRun(id, { cause: 'redrive', rootId: run.id });
    await write(store.db, (tx) =>
      updateErrorsRedriven(tx, world.entity.id, run.id, [{ line: 1, column: 0 }], again.id),
    );
    expect(await lines('open')).toEqual([2]);
    expect(resultOf(await get(`${path}/errors?customer_id=${one}`)).errors[0].redriven_by).toBe(again.identifier);
    expect(resultOf(await get(path))).toMatchObject({ records: { read: 3, ignored: 1, failed: 2 }, open: 1 });
    expect((await audited(run.identifier))[0]).toEqual(['read', 'sync_run', { what: 'errors' }]);
    const { status, body } = await get(`${path}/errors?error_type=NONE`);
    expect([status, body.messages[0].element]).toEqual([400, 'error_type']);
  });

  test('are a CSV file, without those of erased people', async () => {
    const id = await createdId();
    const run = await endedRun(id, { errors: [runError(1, one), unknown, ofErased] });
    const reply = await get(`/${id}/runs/${run.identifier}/errors.csv`);
    expect(reply.headers['content-type']).toBe('text/csv; charset=utf-8');
    expect(reply.headers['content-disposition']).toContain(run.identifier);
    const record = `"{""email"":""${one}"",""score"":""many""}"`;
    expect(reply.text.split(/\r?\n/).slice(0, 2)).toEqual([
      'line,error_type,outcome,customer_id,record_key,key,reason,record',
      `1,INVALID_VALUE,failed,${one},,score,is no number,${record}`,
    ]);
    expect(reply.text.trimEnd().split(/\r?\n/)).toHaveLength(3);
    expect(
      (await get(`/${id}/runs/${run.identifier}/errors.csv?customer_id=${other}`)).text.trimEnd().split(/\r?\n/),
    ).toHaveLength(2);
  });

  test("name the record by its key where it goes elsewhere than to attributes, but not an erased person's", async () => {
    const id = await createdId({
      destination: { connection: connections.webhook, stream: 'people', key: ['id', 'shop'] },
      mapping: {
        customer: { field: 'email' },
        fields: [{ from: 'nr', to: 'id', as: 'number' }, { from: 'email' }, { to: 'shop', value: 'one' }],
      },
    });
    const raw = JSON.stringify({ nr: '7', email: one });
    const noRecord = { errorType: 'PARSING_FAILED', stage: 'parsing', customerId: null, raw: '{"nr":"8"}' } as const;
    const malformed = { ...runError(2, other), ...noRecord };
    const cut = { ...runError(4, other), raw: raw.slice(0, -3) };
    const run = await endedRun(id, { errors: [{ ...runError(1, one), raw }, malformed, ofErased, cut] });
    const path = `/${id}/runs/${run.identifier}/errors`;
    const keys = resultOf(await get(path)).errors.map(({ record_key: key }: { record_key: unknown }) => key);
    expect(keys).toEqual([{ id: 7, shop: 'one' }, null, null, null]);
    expect((await get(`${path}.csv?customer_id=${one}`)).text).toContain(
      `,${one},"{""id"":7,""shop"":""one""}",score,`,
    );
  });

  test('come beside the log of what was said', async () => {
    const id = await createdId();
    const run = await endedRun(id);
    await insertLogLines(store.db, world.entity.id, run.id, ['one', 'two']);
    const { lines } = resultOf(await get(`/${id}/runs/${run.identifier}/log`));
    expect(lines).toEqual([
      { at: expect.any(String), line: 'one' },
      { at: expect.any(String), line: 'two' },
    ]);
    expect(await audited(run.identifier)).toEqual([['read', 'sync_run', { what: 'log' }]]);
  });
});

describe('a re-drive', () => {
  const redrive = (id: string, { identifier }: SyncRun) => post(`/${id}/runs/${identifier}/redrive`);

  test('brings what is open again, of a re-drive what its first run left open', async () => {
    const id = await createdId();
    const run = await endedRun(id, { errors: [runError(1, personId(21)), runError(2, personId(22))] });
    const first = resultOf(await redrive(id, run));
    expect(first).toMatchObject({ cause: 'redrive', state: 'accepted', redrive_of: run.identifier });
    expect(refusalOf(await redrive(id, run))).toEqual([409, 'conflict', expect.stringContaining(first.run_id)]);
    expect((await audited(id)).at(-1)).toEqual([
      'create',
      'sync_run',
      { run: first.run_id, redrive_of: run.identifier },
    ]);
    await post(`/${id}/runs/${first.run_id}/cancel`);
    expect(resultOf(await redrive(id, await found(first.run_id)))).toMatchObject({ redrive_of: run.identifier });
  });

  test('is refused where there is nothing to bring', async () => {
    const id = await createdId();
    const clean = await endedRun(id, { counts: { written: 3 } });
    expect(refusalOf(await redrive(id, clean))).toEqual([
      400,
      'bad_request',
      expect.stringContaining('nothing to bring again'),
    ]);
    const dry = await endedRun(id, { dryRun: true, dryRunRecords: 1, errors: [runError(1, personId(23))] });
    expect(refusalOf(await redrive(id, dry))).toEqual([400, 'bad_request', expect.stringContaining('dry run')]);
    const done = await endedRun(id, { errors: [runError(1, personId(23))] });
    await write(store.db, (tx) =>
      updateErrorsRedriven(tx, world.entity.id, done.id, [{ line: 1, column: 0 }], clean.id),
    );
    expect(refusalOf(await redrive(id, done))).toEqual([
      400,
      'bad_request',
      expect.stringContaining('nothing to bring again'),
    ]);
    const waiting = (await insertRun(store.db, world.entity.id, { syncId: (await stored(id)).id, cause: 'schedule' }))!;
    expect(refusalOf(await redrive(id, waiting))).toEqual([409, 'conflict', 'The run has not ended yet']);
  });
});

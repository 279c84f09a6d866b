import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { parse } from 'csv-parse';
import { beforeAll, describe, expect, it } from 'vitest';
import { settledRows } from '../../../store/imports/import-errors.ts';
import { findImport } from '../../../store/imports/imports.ts';
import { peakMib } from '../../harness/core/memory.ts';
import { startServer } from '../../harness/core/served.ts';
import { useStack } from '../../harness/core/stack.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { badFile } from '../../harness/imports/import-files.ts';
import { importEnded, postImport } from '../../harness/imports/imports.ts';
import { sampledSize } from '../../harness/run/seed.ts';

/** Law 6, of a worker and of a server. */
const MAX_MIB = 512;
const ROUNDS = sampledSize(50_000, 15_000);

const file = badFile(ROUNDS);
const rows = ROUNDS * file.round.length;

/** The line on which each record begins, in the order of the file. */
const lineOf = (row: number) =>
  2 + Math.floor(row / file.round.length) * file.linesPerRound + file.round[row % file.round.length]!.at;

const stack = useStack();
let world: World;
let id: string;
let worker: { pid: number };

beforeAll(async () => {
  world = await makeWorld(stack.store);
  worker = stack.startWorker({ batchRecords: 40_000, alone: true });
  id = await postImport(stack.app, world, file.bytes);
  await importEnded(stack.store, world, id);
});

describe('a file of many bad rows alone', () => {
  it('is counted to the row, in bounded memory', async () => {
    const job = (await findImport(stack.store.db, world.entity.id, id))!;
    const errorsByType: Record<string, number> = {};
    for (const { errorType } of file.round) errorsByType[errorType] = (errorsByType[errorType] ?? 0) + ROUNDS;
    expect(job).toMatchObject({
      state: 'finished',
      rowsIn: rows,
      rowsOk: 0,
      rowsIgnored: 0,
      rowsFailed: rows,
      errorsByType,
    });
    expect(peakMib(worker.pid)).toBeLessThan(MAX_MIB);
    const { rows: plan } = await stack.store.db.query(`EXPLAIN SELECT ${settledRows('$1', '$2')}`, [
      world.entity.id,
      job.id,
    ]);
    expect(JSON.stringify(plan)).toContain('import_errors_settled');
  });

  it("keeps every row's error, with its line, its type and the row itself", async () => {
    const { rows: kept } = await stack.store.db.query(
      `SELECT ((line - 2) % $3)::integer AS at, error_type AS "errorType", raw, count(*)::integer AS times,
         count(DISTINCT line)::integer AS lines, min(line)::integer AS first, max(line)::integer AS last
       FROM import_errors e JOIN imports i ON i.entity_id = e.entity_id AND i.id = e.import_id
       WHERE i.entity_id = $1 AND i.identifier = $2 GROUP BY 1, 2, 3 ORDER BY 1`,
      [world.entity.id, id, file.linesPerRound],
    );
    expect(kept).toEqual(
      file.round.map(({ at, errorType, raw }) => ({
        at,
        errorType,
        raw,
        times: ROUNDS,
        lines: ROUNDS,
        first: 2 + at,
        last: 2 + at + (ROUNDS - 1) * file.linesPerRound,
      })),
    );
  });

  it('is read over HTTP to the last error, as JSON and as a file, while others that read stand still, in bounded memory', async () => {
    const server = await startServer(stack);
    const read = async (path: string) => {
      const reply = await fetch(server.url + path, {
        headers: { authorization: `Token ${world.token}`, accept: 'application/vnd.svc.v3' },
      });
      expect(reply.status).toBe(200);
      return reply.body as ReadableStream<Uint8Array>;
    };
    const [json, csv] = [
      `/api/attribute_values/import_errors?import_id=${id}`,
      `/api/attribute_values/imports/${id}/errors.csv`,
    ];
    // An answer that is not read is not to be gathered.
    const still = [await read(json), await read(csv)];
    await Promise.all([
      read(json).then((body) => expectEveryLine(linesOfJson(body))),
      read(csv).then((body) => expectEveryLine(linesOfCsv(body))),
    ]);
    expect(peakMib(server.pid)).toBeLessThan(MAX_MIB);
    for (const body of still) await body.cancel();
  });
});

/** Fails at the first that is not the next record's. */
async function expectEveryLine(lines: AsyncIterable<number>): Promise<void> {
  let row = 0;
  for await (const line of lines) {
    if (line !== lineOf(row)) expect(line, `of error ${row}`).toBe(lineOf(row));
    row += 1;
  }
  expect(row).toBe(rows);
}

/** Of each error as it comes; the answer as a whole would be too long for a string. */
async function* linesOfJson(body: ReadableStream<Uint8Array>): AsyncGenerator<number> {
  let rest = '';
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    const errors = (rest + chunk).split('},{');
    rest = errors.pop()!;
    for (const error of errors) yield lineIn(error);
  }
  expect(rest.slice(-4)).toBe('}]}}');
  yield lineIn(rest);
}

/** A quote within a value has a backslash before it, so this is the member. */
function lineIn(error: string): number {
  return Number(/[^\\]"line":(\d+)/.exec(error)![1]);
}

/** The column of an error file that tells the line comes after those of the import. */
async function* linesOfCsv(body: ReadableStream<Uint8Array>): AsyncGenerator<number> {
  for await (const record of Readable.fromWeb(body).pipe(parse({ columns: true }))) {
    yield Number((record as { line: string }).line);
  }
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Piece } from '../../../domain/csv/csv-pieces.ts';
import { createCsvSplitter } from '../../../domain/csv/csv-splitter.ts';
import { checkPieces, type CheckedRows, type Rules } from '../../../domain/imports/import-batch.ts';
import { type HeaderReading, parseHeader } from '../../../domain/imports/import-file.ts';

const header = parseHeader(split(Buffer.from('user_id,attribute_key,value\n'))[0], 'v2') as HeaderReading & {
  ok: true;
};

const rules: Rules = {
  ...header.format,
  attributes: new Map([
    ['plan', { id: 1, key: 'plan', valueType: 'String', disabled: false }],
    ['score', { id: 2, key: 'score', valueType: 'Number', disabled: false }],
    ['tags', { id: 3, key: 'tags', valueType: 'Set', disabled: false }],
  ]),
  sorDisabled: false,
  sorDeleted: false,
};

/** The same records as rows of a table: their third field is the customer, and the first two are cells. */
const tableRules: Rules = {
  ...rules,
  version: 'v3',
  columns: 3,
  layout: {
    named: 3,
    width: 3,
    customer: 3,
    ignoredCount: 0,
    ignored: [],
    cells: [
      { column: 1, name: 'a', key: 'plan' },
      { column: 2, name: 'b', key: 'score' },
    ],
  },
};
const anyRules = fc.constantFrom(rules, tableRules);

function split(bytes: Buffer, startOffset = 0, startLine = 1): Piece[] {
  const splitter = createCsvSplitter({ maxRunBytes: 64, startOffset, startLine });
  return [...splitter.push(bytes), ...splitter.end()];
}

/** Sound rows, rows that fail for each reason, rows without a customer, and records that can't be read. */
const record = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(
        fc.constantFrom('a', 'b', 'c', 'd', 'é'),
        fc.constantFrom('plan', 'score', 'tags', 'none'),
        fc.constantFrom('1', 'x', '', 'x;y', '"q,""r"""', '"two\nlines"'),
      )
      .map((fields) => fields.join(',')),
  },
  fc.constantFrom(',plan,1', 'a,plan', '"st"ray,plan,1', 'a,plan,"open', 'a\u0001,plan,1'),
  fc.constant(Buffer.from([0x62, 0x2c, 0xff])),
);

const file = fc
  .array(record, { maxLength: 40 })
  .map((records) => Buffer.concat(records.flatMap((each) => [Buffer.from(each as string), Buffer.from('\n')])));

function lines({ changes, errors }: CheckedRows): number[] {
  return [...changes, ...errors].map(({ line }) => line);
}

const byLine = (one: { line: number }, other: { line: number }) => one.line - other.line;

it('counts the rows that it takes for customers whose id hardly is one', () => {
  const words = ['undefined', 'NULL', '[object Object]', 'unknown', 'NaN', '12345.0', '-1.00', '1.23457E+11'];
  const ids = [...words, 'a', '12345', '1.5', 'e+1', '1e5'];
  const [rows] = checkPieces(
    split(Buffer.from([...ids, 'undefined,none'].map((id) => `${id},plan,x`).join('\n'))),
    rules,
    [0],
  );
  expect([rows!.rowsIn, rows!.changes.length, rows!.suspiciousIds]).toEqual([14, 13, 8]);
});

it('takes a wrong customer id of a table for one error of its line', () => {
  const [rows] = checkPieces(
    split(Buffer.from(`gold,1,${'x'.repeat(1_000)}\n,,\u0001\ngold,,\nplan,1,ada\n`)),
    tableRules,
    [0],
  );
  expect(rows).toMatchObject({ rowsIn: 6, cellsEmpty: 2, changes: [{ line: 4 }, { line: 4 }] });
  expect(rows!.errors.map(({ column }) => column)).toEqual([undefined, undefined]);
  expect(rows!.errors).toMatchObject(
    [1, 3].map((line) => ({ line, errorType: 'INVALID_CUSTOMER_ID', attributeKey: null })),
  );
});

it("counts the filled cells of a sheet beyond its header, and locates an error of the customer's column as one of that cell", () => {
  const attributes = { mail: 'score', plan: 'plan' };
  const [first] = split(Buffer.from('mail,plan,,\n'));
  const { format } = parseHeader(first, 'v3', { isSheet: true }, { customer: 'mail', attributes }) as HeaderReading & {
    ok: true;
  };
  const [rows] = checkPieces(split(Buffer.from('a@b.c,gold,,note,,x\n5,,y\n,x,z\n')), { ...rules, ...format }, [0]);
  expect(rows).toMatchObject({
    rowsIn: 5,
    cellsEmpty: 1,
    cellsUnnamed: 3,
    changes: [
      { line: 1, value: 'gold' },
      { line: 2, value: '5' },
    ],
  });
  expect(rows!.errors).toMatchObject([
    { line: 1, column: 1, errorType: 'INVALID_VALUE', attributeKey: 'score' },
    {
      line: 3,
      errorType: 'INVALID_CUSTOMER_ID',
      message: 'in the column "mail", the customer id is empty',
      attributeKey: null,
    },
  ]);
});

it('refuses the header of a table that has more columns than a sheet, and finds a thousand names in one that has as many', () => {
  const attributes = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`ＣＯＬ ${n}`, `key${n}`]));
  const names = Array.from({ length: 16_384 }, (_, n) => `col ${n}`);
  const wide = (header: string[]) =>
    parseHeader(
      [...createCsvSplitter({}).push(Buffer.from(`${header.join(',')}\n`))][0],
      'v3',
      {},
      { customer: 'Col 16383', attributes },
    );
  expect(wide(names)).toMatchObject({ ok: true, format: { layout: { ignoredCount: 16_384 - 1_001 } } });
  expect(wide([...names, 'more'])).toMatchObject({
    ok: false,
    message: expect.stringMatching(/has 16385 columns, and a table at most 16384/),
  });
});

it('takes a field that is the null marker as an empty one, in each kind of file', () => {
  const marked = (text: string, base: Rules) =>
    checkPieces(split(Buffer.from(text)), { ...base, nullMarker: '\\N' }, [0])[0]!;
  const table = marked('gold,\\N,a\n\\N,5,\\N\n"\\N",\\N ,b\n', tableRules);
  expect(table).toMatchObject({
    rowsIn: 5,
    cellsEmpty: 2,
    changes: [{ line: 1, customerId: 'a', value: 'gold' }],
    errors: [
      { line: 2, errorType: 'INVALID_CUSTOMER_ID' },
      { line: 3, errorType: 'INVALID_VALUE' },
    ],
  });
  const rows = marked('a,plan,\\N\na,tags,\\N\n\\N,plan,x\na,plan,\\n\n', rules);
  expect(rows).toMatchObject({
    changes: [
      { line: 2, action: 'DEL' },
      { line: 4, value: '\\n' },
    ],
    errors: [
      { line: 1, errorType: 'EMPTY_VALUE', raw: 'a,plan,\\N' },
      { line: 3, errorType: 'INVALID_CUSTOMER_ID' },
    ],
  });
  const errorFile = { ...rules, hasErrorColumns: true };
  expect(marked('a,plan,\\N,2,EMPTY_VALUE,x,\nb,plan,gold,3,EMPTY_VALUE,x,\n', errorFile)).toMatchObject({
    changes: [{ customerId: 'b' }],
    errors: [{ errorType: 'EMPTY_VALUE', originalLine: 2 }],
  });
});

describe('a file of a spreadsheet', () => {
  it('has no rows of separators alone, and no columns without a name and a value', () => {
    const bytes = Buffer.from(
      'user_id,attribute_key,value,,\nu1,plan,gold,,\n,,,,\nu2,plan,gold\nu3,plan,gold,,note\n,,\n,plan,gold,,\n',
    );
    const reading = parseHeader(split(bytes)[0], 'v3') as HeaderReading & { ok: true };
    const rest = split(bytes.subarray(reading.offset), reading.offset, reading.line);
    const [checked] = checkPieces(rest, { ...rules, ...reading.format }, [0]);
    expect([checked!.rowsIn, checked!.changes.map(({ line }) => line)]).toEqual([4, [2, 4]]);
    expect(checked!.errors.map(({ line, errorType }) => [line, errorType])).toEqual([
      [5, 'PARSING_FAILED'],
      [7, 'INVALID_CUSTOMER_ID'],
    ]);
  });
});

describe('an import in lanes', () => {
  it('finds in all lanes together what it would find in one', () => {
    fc.assert(
      fc.property(file, fc.integer({ min: 2, max: 5 }), anyRules, (bytes, count, each) => {
        const pieces = split(bytes);
        const [whole] = checkPieces(pieces, each, [0]);
        const lanes = checkPieces(
          pieces,
          each,
          Array.from({ length: count }, () => 0),
        );
        expect(lanes).toHaveLength(count);
        expect(lanes.flatMap(({ changes }) => changes).toSorted(byLine)).toEqual(whole!.changes);
        expect(lanes.flatMap(({ errors }) => errors).toSorted(byLine)).toEqual(whole!.errors);
        for (const lane of lanes) expect(lane.rowsIn).toBe(lane.changes.length + lane.errors.length + lane.cellsEmpty);
      }),
    );
  });

  it("keeps each customer's rows in one lane, in the order of the file", () => {
    fc.assert(
      fc.property(file, fc.integer({ min: 2, max: 5 }), anyRules, (bytes, count, each) => {
        const owners = new Map<string, number>();
        for (const [lane, { changes }] of checkPieces(
          split(bytes),
          each,
          Array.from({ length: count }, () => 0),
        ).entries()) {
          expect(changes).toEqual(changes.toSorted(byLine));
          for (const { customerId } of changes) {
            expect(owners.get(customerId) ?? lane).toBe(lane);
            owners.set(customerId, lane);
          }
        }
      }),
    );
  });

  it('takes each row once, wherever its lanes stopped before', () => {
    fc.assert(
      fc.property(file, fc.array(fc.nat(), { minLength: 1, maxLength: 4 }), anyRules, (bytes, stops, each) => {
        const pieces = split(bytes);
        const ends = [{ endOffset: 0, endLine: 1 }, ...pieces];
        const reached = stops.map((stop) => ends[stop % ends.length]!);
        const cursors = reached.map(({ endOffset }) => endOffset);
        const none = cursors.map(() => 0);
        const first = reached.toSorted((one, other) => one.endOffset - other.endOffset)[0]!;
        const rest = split(bytes.subarray(first.endOffset), first.endOffset, first.endLine);
        const again = checkPieces(rest, each, cursors);
        for (const [lane, all] of checkPieces(pieces, each, none).entries()) {
          const before = checkPieces(
            pieces.filter(({ endOffset }) => endOffset <= cursors[lane]!),
            each,
            none,
          )[lane]!;
          expect([...lines(before), ...lines(again[lane]!)].toSorted((a, b) => a - b)).toEqual(
            lines(all).toSorted((a, b) => a - b),
          );
        }
      }),
    );
  });
});

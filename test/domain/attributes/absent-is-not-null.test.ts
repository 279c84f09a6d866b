import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createCsvItems, FILE_START } from '../../../connectors/files/file-portions.ts';
import { VALUE_TYPES } from '../../../domain/attributes/attribute-value.ts';
import type { Conversion } from '../../../domain/attributes/field-conversion.ts';
import type { RefusedRow, SetRow, ValueRow } from '../../../domain/attributes/value-row.ts';
import { createCsvSplitter } from '../../../domain/csv/csv-splitter.ts';
import type { Json } from '../../../domain/json/plain-json.ts';
import { checkFeedValue } from '../../../domain/feed/feed-value.ts';
import { checkPieces, type Rules } from '../../../domain/imports/import-batch.ts';
import { checkRow } from '../../../domain/imports/import-row.ts';
import { prepareMapping, type SourceRecord } from '../../../domain/syncs/record-mapping.ts';
import { checkRecord } from '../../../domain/syncs/record-values.ts';
import { readTraits, traitValues } from '../../../domain/tracking/call-traits.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

/**
 * In each way in for values, only what docs/ call a removal removes: nothing absent, and nothing that can't be read.
 */

const attributes = new Map(VALUE_TYPES.map((key, id) => [key as string, { id, key, valueType: key, disabled: false }]));
const rules = { attributes, sorDisabled: false, sorDeleted: false };
const type = fc.constantFrom(...VALUE_TYPES);
const action = fc.constantFrom('', 'UPSERT', 'ADD', 'REMOVE', 'DEL', 'del', 'DELETE', 'x');
const options = { numRuns: sampledRuns(4_000) };

/** Texts as damaged files, spreadsheets and programs have them. */
const text = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    ';',
    ';;',
    '\\N',
    'NULL',
    'null',
    'undefined',
    'NaN',
    '#N/A',
    '#REF!',
    '[]',
    '{}',
    '0',
    'true',
    'TRUE',
    '1,5',
    '2026-13-01',
    '2026-01-31',
    '2026-01-31T00:00',
    '"',
    '\uFFFD',
    '\0',
    '\ufeff',
    'x'.repeat(257),
    'a;b',
    ' ; ',
  ),
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
);
const json: fc.Arbitrary<Json> = fc.oneof(
  text,
  fc.constantFrom<Json[]>(null, 0, 1e21, true, [], [''], [null], ['', null], [[]], {}, [{}], { a: null }, [
    'a;b',
    'x'.repeat(257),
  ]),
  fc.jsonValue() as fc.Arbitrary<Json>,
);

const isNothing = (elements: string) => elements.split(';').every((element) => element === '');

function removes(outcome: ValueRow | SetRow | RefusedRow): boolean {
  if ('errorType' in outcome) return false;
  return outcome.kind === 'set' ? outcome.elements.length === 0 : outcome.action === 'remove' || outcome.value === null;
}

it('a row of a file removes by DEL alone, and in v2 where a Set has no element', () => {
  fc.assert(
    fc.property(type, text, action, fc.constantFrom('v2', 'v3'), (key, value, given, version) => {
      const format = { version, columns: version === 'v2' ? 3 : 4, hasErrorColumns: false } as const;
      const outcome = checkRow(version === 'v2' ? ['u1', key, value] : ['u1', key, value, given], {
        ...format,
        ...rules,
        dates: 'lenient',
      });
      const isRemoval = version === 'v2' ? key === 'Set' && isNothing(value) : given === 'DEL';
      expect(removes(outcome)).toBe(isRemoval);
    }),
    options,
  );
});

it('a cell of a table never removes, whatever stands in its line', () => {
  const layout = {
    named: 7,
    width: 7,
    customer: 1,
    ignoredCount: 0,
    ignored: [],
    cells: VALUE_TYPES.map((key, at) => ({ column: at + 2, name: key, key })),
  };
  const tableRules: Rules = {
    ...rules,
    version: 'v3',
    columns: 3,
    hasErrorColumns: false,
    layout,
    nullMarker: '\\N',
    dates: 'lenient',
  };
  fc.assert(
    fc.property(
      fc.array(fc.array(text, { minLength: 5, maxLength: 8 }), { maxLength: 4 }),
      fc.boolean(),
      (lines, isQuoted) => {
        const rows = lines.map((cells) =>
          ['u1', ...cells].map((cell) => (isQuoted ? `"${cell.replaceAll('"', '""')}"` : cell)).join(),
        );
        const splitter = createCsvSplitter({});
        const pieces = [...splitter.push(Buffer.from(rows.join('\n'))), ...splitter.end()];
        const [checked] = checkPieces(pieces, tableRules, [0]);
        for (const change of checked!.changes)
          expect(change.kind === 'set' ? change.elements : change.value).not.toEqual(null);
        expect(checked!.changes.some((change) => change.kind === 'set' && change.elements.length === 0)).toBe(false);
      },
    ),
    options,
  );
});

it('a value of a feed removes by null, or by DEL where the action counts', () => {
  const given = fc.oneof(action, json);
  fc.assert(
    fc.property(
      type,
      fc.option(json, { nil: undefined }),
      given,
      fc.constantFrom('v2', 'v3'),
      (key, value, act, version) => {
        const outcome = checkFeedValue(
          { customer_id: 'u1', attribute_key: key, attribute_value: value, action_type: act },
          { ...rules, version },
        );
        const isDelete = act === 'DEL' && (key === 'Set' || version === 'v3');
        if (removes(outcome)) expect(value === null || isDelete).toBe(true);
        if (value === undefined && !isDelete) expect(outcome).toHaveProperty('errorType');
      },
    ),
    options,
  );
});

it('a trait removes by null, a Set by an array without a text, and nothing else does', () => {
  fc.assert(
    fc.property(type, json, (key, value) => {
      const read = readTraits('identify', { traits: { [key]: value } }, undefined);
      const traits = 'traits' in read ? read.traits.filter((trait) => trait.key === key) : [];
      const outcomes = traits.flatMap((trait) =>
        traitValues(
          { customerId: 'u1', customerType: 'user_id' },
          key,
          trait.value,
          attributes.get(key)!.valueType,
        ).map((each) => checkFeedValue(each, { ...rules, version: 'v3' })),
      );
      // A whole Set may come as a DEL and an ADD for each element.
      const isRemoval =
        outcomes.length > 0 && removes(outcomes[0]!) && outcomes.slice(1).every((each) => 'errorType' in each);
      const isEmptied = key === 'Set' && Array.isArray(value) && value.every((element) => element === '');
      if (isRemoval) expect(value === null || isEmptied).toBe(true);
    }),
    options,
  );
});

const CONVERSIONS: (Conversion | undefined)[] = [
  undefined,
  { as: 'string' },
  { as: 'number' },
  { as: 'number', decimal: ',' },
  { as: 'boolean', true: ['ja'], false: ['nein'] },
  { as: 'date' },
  { as: 'datetime', format: 'unix' },
  { as: 'date', format: 'dd/MM/yyyy' },
  { as: 'set' },
  { as: 'set', separator: ' ' },
];

it('a record of a sync removes by null, a Set by an empty array, and by a text without anything only where that is set', () => {
  const conversion = fc.constantFrom(...CONVERSIONS);
  const any = fc.option(json, { nil: undefined });
  fc.assert(
    fc.property(
      type,
      any,
      conversion,
      fc.constantFrom('fail', 'remove'),
      fc.boolean(),
      (key, value, convert, empty, isMapped) => {
        const field = { from: isMapped ? 'field' : key, to: key, ...(convert && { convert }) };
        const customer = { field: 'id', type: 'user_id' } as const;
        const map = prepareMapping({ customer, fields: isMapped ? [field] : [], otherFields: 'keep', empty });
        const record: SourceRecord = { id: 'u1', ...(value !== undefined && { [field.from]: value }) };
        const { rows } = checkRecord(map(record), rules, customer);
        const isEmptyText = empty === 'remove' && typeof value === 'string' && /^[\s;]*$/.test(value);
        const isEmptied = key === 'Set' && Array.isArray(value) && value.length === 0;
        if (rows.some(removes)) expect(value === null || isEmptied || isEmptyText).toBe(true);
      },
    ),
    options,
  );
});

it("a line of a sync's CSV has null only where a field is empty or the null marker; one that can't be cut is an error", () => {
  fc.assert(
    fc.property(fc.array(fc.array(text, { minLength: 1, maxLength: 3 }), { maxLength: 4 }), (lines) => {
      const reader = createCsvItems({ format: 'csv', delimiter: ',' }, FILE_START, '\\N');
      const rows = lines.map((cells) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join());
      const items = [...reader.push(Buffer.from(`a,b\n${rows.join('\n')}`)), ...reader.end()].map(({ item }) => item);
      for (const item of items) {
        if (item.kind !== 'record') continue;
        const nulls = Object.values(item.record).filter((value) => value === null).length;
        const emptyOf = (cells: string[]) => cells.slice(0, 2).filter((cell) => ['', '\\N'].includes(cell)).length;
        expect(lines.some((cells) => cells.length >= 2 && emptyOf(cells) === nulls)).toBe(true);
      }
    }),
    options,
  );
});

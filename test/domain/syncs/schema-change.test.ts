import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  joinChanges,
  type NamedField,
  sayChange,
  schemaChange,
  toldFields,
} from '../../../domain/syncs/schema-change.ts';

const type = fc.constantFrom('string', 'integer', 'date');
const fields = fc.uniqueArray(fc.record({ name: fc.string({ maxLength: 3 }), type }), {
  selector: ({ name }) => name,
  maxLength: 8,
});

/** What a change makes of the fields before it. */
function applied(before: NamedField[], change: NonNullable<ReturnType<typeof schemaChange>>): NamedField[] {
  const retyped = new Map(change.retyped.map(({ name, to }) => [name, to]));
  const left = before.filter(({ name }) => !change.removed.includes(name));
  return [...left.map((field) => ({ ...field, type: retyped.get(field.name) ?? field.type })), ...change.added];
}

const inOrder = (some: readonly NamedField[]) => some.toSorted((a, b) => (a.name < b.name ? -1 : 1));

test('leads from the fields before to those after, and is none where they are the same in any order', () => {
  fc.assert(
    fc.property(fields, fields, (before, after) => {
      const change = schemaChange(before, after);
      expect(inOrder(change ? applied(before, change) : before)).toEqual(inOrder(after));
      expect(schemaChange(after, after.toReversed())).toBeNull();
    }),
  );
});

test('of two looks is what either has noticed, each name once', () => {
  const names = (change: ReturnType<typeof schemaChange>) =>
    new Set([
      ...(change?.added.map(({ name }) => name) ?? []),
      ...(change?.removed ?? []),
      ...(change?.retyped.map(({ name }) => name) ?? []),
    ]);
  fc.assert(
    fc.property(fields, fields, fields, (before, one, other) => {
      const [first, second] = [schemaChange(before, one), schemaChange(before, other)];
      const joined = joinChanges(first, second);
      expect(names(joined)).toEqual(new Set([...names(first), ...names(second)]));
      for (const list of [joined?.added ?? [], joined?.retyped ?? []] as { name: string }[][]) {
        expect(new Set(list.map(({ name }) => name)).size).toBe(list.length);
      }
      expect(joinChanges(joined, second)).toEqual(joined);
    }),
  );
});

test('is none where a source tells more fields while it is read, and they are known', () => {
  fc.assert(
    fc.property(fields, fields, (known, read) => {
      const all = toldFields(known, read);
      expect(schemaChange(all, toldFields(all, read))).toBeNull();
      expect(new Set(all.map(({ name }) => name))).toEqual(new Set([...known, ...read].map(({ name }) => name)));
    }),
  );
});

test('is said with every kind of it, the first ten of many', () => {
  const many = Array.from({ length: 12 }, (_, number) => ({ name: `f${number}`, type: 'string' }));
  const before = [
    { name: 'old', type: 'string' },
    { name: 'age', type: 'string' },
  ];
  const told = many
    .slice(0, 10)
    .map(({ name }) => `${name} (string)`)
    .join(', ');
  expect(sayChange(schemaChange(before, [{ name: 'age', type: 'integer' }, ...many])!)).toBe(
    `new: ${told} and 2 more; gone: old; of another type: age (string, now integer)`,
  );
});

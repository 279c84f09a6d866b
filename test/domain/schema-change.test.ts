import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type NamedField, sayChange, schemaChange } from '../../domain/schema-change.ts';

const type = fc.constantFrom('string', 'integer', 'date');
const fields = fc.uniqueArray(fc.record({ name: fc.string({ maxLength: 3 }), type }), { selector: ({ name }) => name, maxLength: 8 });

/** What a change makes of the fields before it. */
function applied(before: NamedField[], change: NonNullable<ReturnType<typeof schemaChange>>): NamedField[] {
  const retyped = new Map(change.retyped.map(({ name, to }) => [name, to]));
  const left = before.filter(({ name }) => !change.removed.includes(name));
  return [...left.map((field) => ({ ...field, type: retyped.get(field.name) ?? field.type })), ...change.added];
}

const inOrder = (some: readonly NamedField[]) => some.toSorted((a, b) => (a.name < b.name ? -1 : 1));

test('leads from the fields before to those after, and is none where they are the same in any order', () => {
  fc.assert(fc.property(fields, fields, (before, after) => {
    const change = schemaChange(before, after);
    expect(inOrder(change ? applied(before, change) : before)).toEqual(inOrder(after));
    expect(schemaChange(after, after.toReversed())).toBeNull();
  }));
});

test('is said with every kind of it, the first ten of many', () => {
  const many = Array.from({ length: 12 }, (_, number) => ({ name: `f${number}`, type: 'string' }));
  const before = [{ name: 'old', type: 'string' }, { name: 'age', type: 'string' }];
  const told = many.slice(0, 10).map(({ name }) => `${name} (string)`).join(', ');
  expect(sayChange(schemaChange(before, [{ name: 'age', type: 'integer' }, ...many])!))
    .toBe(`new: ${told} and 2 more; gone: old; of another type: age (string, now integer)`);
});

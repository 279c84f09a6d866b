/** Fields of a source: compares the declared ones with the known ones, and words the changes. */

/** A field of a source: its name, and its type in the connector's words. */
export type NamedField = { name: string; type: string };

/** The type of a field that the source does not declare: it came in a record. */
export const UNTOLD = 'unknown';

export function untoldOf(fields: readonly NamedField[]): NamedField[] {
  return fields.filter(({ type }) => type === UNTOLD);
}

/** Returns all fields that a source declares, before and while it is read; types may change meanwhile. */
export function toldFields(known: readonly NamedField[], read: readonly NamedField[]): NamedField[] {
  const names = new Set(known.map(({ name }) => name));
  return [...known, ...read.filter(({ name }) => !names.has(name))];
}

export type SchemaChange = {
  added: NamedField[];
  removed: string[];
  retyped: { name: string; from: string; to: string }[];
};

/** Returns null if they are the same; their order does not matter. */
export function schemaChange(before: readonly NamedField[], after: readonly NamedField[]): SchemaChange | null {
  const known = new Map(before.map(({ name, type }) => [name, type]));
  const found = new Map(after.map(({ name, type }) => [name, type]));
  const change: SchemaChange = {
    added: [...found].filter(([name]) => !known.has(name)).map(([name, type]) => ({ name, type })),
    removed: [...known.keys()].filter((name) => !found.has(name)),
    retyped: [...found].flatMap(([name, to]) => {
      const from = known.get(name);
      return from === undefined || from === to || from === UNTOLD ? [] : [{ name, from, to }];
    }),
  };
  return change.added.length + change.removed.length + change.retyped.length === 0 ? null : change;
}

/** Joins two looks at one source: for each name, the first one counts. */
export function joinChanges(one: SchemaChange | null, other: SchemaChange | null): SchemaChange | null {
  if (!one || !other) return one ?? other;
  return {
    added: toldFields(one.added, other.added),
    removed: [...new Set([...one.removed, ...other.removed])],
    retyped: [
      ...one.retyped,
      ...other.retyped.filter(({ name }) => !one.retyped.some((retyped) => retyped.name === name)),
    ],
  };
}

const MAX_TOLD = 10;

export function sayChange({ added, removed, retyped }: SchemaChange): string {
  const parts = [
    say(
      'new',
      added.map(({ name, type }) => `${name} (${type})`),
    ),
    say('gone', removed),
    say(
      'of another type',
      retyped.map(({ name, from, to }) => `${name} (${from}, now ${to})`),
    ),
  ];
  return parts.filter((part) => part !== '').join('; ');
}

function say(what: string, names: string[]): string {
  if (names.length === 0) return '';
  const told = names.slice(0, MAX_TOLD).join(', ');
  return `${what}: ${told}${names.length > MAX_TOLD ? ` and ${names.length - MAX_TOLD} more` : ''}`;
}

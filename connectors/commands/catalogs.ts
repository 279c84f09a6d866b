/** Catalogs that commands print: their fields, and a cache for the length of a run. */
import { isObject } from '../../domain/json/exact-json.ts';
import type { FieldType } from '../../domain/syncs/sync-codes.ts';
import type { Field, ConnectorContext } from '../core/contract.ts';

/** Returns the members of a JSON schema's object as fields (json-schema.org: type, format, anyOf, oneOf). */
export function schemaFields(schema: unknown): Field[] {
  const properties = isObject(schema) ? schema['properties'] : undefined;
  if (!isObject(properties)) return [];
  return Object.entries(properties).map(([name, property]) => {
    const types = typesOf(property);
    return { name, type: fieldType(types), nullable: types.has('null') || types.size === 0 };
  });
}

const NAMED = new Set(['string', 'integer', 'number', 'boolean', 'object', 'array', 'null']);

/** Returns all types of a value; a text with a format counts as that format. */
function typesOf(schema: unknown): Set<string> {
  if (!isObject(schema)) return new Set();
  const { type, format, anyOf, oneOf, properties, items } = schema;
  const own = ((Array.isArray(type) ? type : [type]) as unknown[]).filter(
    (name) => typeof name === 'string' && NAMED.has(name),
  ) as string[];
  const nested = [anyOf, oneOf].flatMap((list) =>
    Array.isArray(list) ? list.flatMap((part) => [...typesOf(part)]) : [],
  );
  const shape = [...(isObject(properties) ? ['object'] : []), ...(items === undefined ? [] : ['array'])];
  const guessed = own.length + nested.length > 0 ? [] : shape;
  return new Set([...own.map((name) => (name === 'string' ? textType(format) : name)), ...nested, ...guessed]);
}

function textType(format: unknown): string {
  if (format === 'date-time') return 'datetime';
  return format === 'date' ? 'date' : 'string';
}

/** Returns the type that holds all these types, or text. */
function fieldType(types: Set<string>): FieldType {
  const [first, ...others] = [...types].filter((name) => name !== 'null');
  if (others.length === 0) return (first ?? 'string') as FieldType;
  return [first, ...others].every((name) => name === 'integer' || name === 'number') ? 'number' : 'string';
}

/** Passes a program's catalog from `discover` to later readings with the same context. */
type CatalogCache<T> = {
  keep(context: ConnectorContext, settings: unknown, catalog: T): void;
  find(context: ConnectorContext, settings: unknown): T | undefined;
};

/** A run first checks the fields and then reads; its program, which may be slow, prints its catalog only once. */
export function catalogCache<T>(): CatalogCache<T> {
  const kept = new WeakMap<ConnectorContext, { settings: unknown; catalog: T }>();
  return {
    keep: (context, settings, catalog) => void kept.set(context, { settings, catalog }),
    find(context, settings) {
      const found = kept.get(context);
      return found?.settings === settings ? found?.catalog : undefined;
    },
  };
}

/** Documents that operations store, with bounds in bytes: for the docs, and for the test that each has one. */
import { z } from 'zod';
import type { Operation } from '../../api/core/operation.ts';
import { replaceBetween } from '../../domain/text/replace-between.ts';

const [START, END] = ['<!-- documents: made from the operations by `npm run docs` -->', '<!-- end of documents -->'];

type Json = Record<string, unknown>;

/** A body's member with its maximum bytes as JSON. `maxBytes` is null if only its schema bounds it. */
export type BodyMember = { id: string; member: string; maxBytes: number | null; mostBytes: number };

export function membersOf({ id, body }: Operation): BodyMember[] {
  if (!body) return [];
  const { $defs = {}, ...schema } = z.toJSONSchema(body, { io: 'input', unrepresentable: 'any' }) as Json & {
    $defs?: Record<string, Json>;
  };
  const { properties = {} } = resolve(schema, $defs) as { properties?: Record<string, Json> };
  return Object.entries(properties).map(([member, given]) => {
    const { maxBytes } = resolve(given, $defs) as { maxBytes?: number };
    return { id, member, maxBytes: maxBytes ?? null, mostBytes: mostBytes(given, $defs) };
  });
}

export function withStoredDocuments(page: string, operations: readonly Operation[]): string {
  const rows = new Map<string, string[]>();
  for (const { id, member, maxBytes } of operations.flatMap(membersOf)) {
    if (maxBytes === null) continue;
    const key = `| \`${member}\` | ${maxBytes / 1024} KiB`;
    rows.set(key, [...(rows.get(key) ?? []), `\`${id}\``]);
  }
  const lines = [...rows].map(([key, ids]) => `${key} | ${ids.join(', ')} |`);
  return replaceBetween(
    page,
    [START, END],
    ['| member of the body | at most | operations |', '|---|---|---|', ...lines].join('\n'),
  );
}

function resolve(schema: Json, defs: Record<string, Json>): Json {
  const { $ref: ref, ...own } = schema;
  return typeof ref === 'string' ? { ...resolve(defs[ref.split('/').at(-1)!] ?? {}, defs), ...own } : schema;
}

/** Maximum bytes of a character in JSON: a control character is \u001f. */
const CHARACTER_BYTES = 6;
const NUMBER_BYTES = 330;

function mostBytes(given: Json, defs: Record<string, Json>, within: readonly unknown[] = []): number {
  const schema = resolve(given, defs);
  const { maxBytes, enum: values, maxLength, maxItems, items, properties, additionalProperties } = schema;
  const of = (inner: unknown) => mostBytes(inner as Json, defs, [...within, given['$ref'] ?? given]);
  const alternatives = schema['anyOf'] ?? schema['oneOf'] ?? schema['allOf'];
  if (typeof maxBytes === 'number') return maxBytes;
  if (within.includes(given['$ref'] ?? given)) return Infinity;
  if (Array.isArray(values)) return Math.max(...values.map((value) => JSON.stringify(value).length));
  if ('const' in schema) return JSON.stringify(schema['const']).length;
  if (Array.isArray(alternatives)) return Math.max(...alternatives.map(of));
  if (schema['type'] === 'array') return 2 + Number(maxItems ?? Infinity) * (2 + of(items ?? {}));
  if (schema['type'] === 'object' && additionalProperties !== undefined && additionalProperties !== false)
    return Infinity;
  if (schema['type'] === 'object') {
    return Object.entries(properties ?? {}).reduce((sum, [name, member]) => sum + name.length + 6 + of(member), 2);
  }
  if (schema['type'] === 'string') return 2 + Number(maxLength ?? charactersOf(schema)) * CHARACTER_BYTES;
  return ['boolean', 'null', 'integer', 'number'].includes(String(schema['type'])) ? NUMBER_BYTES : Infinity;
}

function charactersOf({ format, pattern }: Json): number {
  const [, digits = Infinity] = /^\^\\d\{1,(\d+)\}\$$/.exec(String(pattern)) ?? [];
  return format === 'date-time' ? DATETIME_CHARS : Number(digits);
}

const DATETIME_CHARS = 64;

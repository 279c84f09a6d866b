import { expect, it } from 'vitest';
import type { z } from 'zod';
import type { Operation } from '../../../api/core/operation.ts';
import * as contract from '../../../api/operations.ts';
import { isStorableJson } from '../../../domain/text/text-limits.ts';

/** Texts that Postgres cannot store, above all in a column of JSON: it takes the row, and each read of it fails. */
const UNSTORABLE = ['a\0b', 'a\ud800b', '\udfff'];

/** What a body's schema takes, and the server refuses or makes storable. */
const CHECKED_BY_THE_SERVER: readonly RegExp[] = [
  // domain/analytics/comparison.ts, domain/syncs/mapping-errors.ts, server/syncs/connection-settings.ts,
  // server/apps/apps.ts
  /\.filters\[\]\.values\[\]$/,
  /\.mapping\.fields\[\]\.value$/,
  /\.settings$/,
  /Apps? body\.(?:app_type|domains)$/,
  // Ignored.
  /Sync body\.(?:source|destination)\.name$/,
  // Calls of SDKs, which domain/json/plain-json.ts makes storable.
  /^(?:send(?:Alias|Batch|Group|Identify|ImportedBatch|Page|Screen|Track)|requestPrivacyFromDevice|verifyDeviceUser) body$/,
  // Each is refused by itself, with its reason.
  /SegmentPeople body\.ids\[\]$/,
];

type Definition = {
  type: string;
  shape: Record<string, z.ZodType>;
  element: z.ZodType;
  options: z.ZodType[];
  in: z.ZodType;
  out: z.ZodType;
  innerType: z.ZodType;
  valueType: z.ZodType;
  getter(): z.ZodType;
};
const definitionOf = (schema: z.ZodType) => (schema as unknown as { _zod: { def: Definition } })._zod.def;
const accepts = (schema: z.ZodType, of: (text: string) => unknown) =>
  UNSTORABLE.some((text) => schema.safeParse(of(text)).success);

const takesInRecord = (schema: z.ZodType) =>
  accepts(schema, (text) => ({ [text]: 'x' })) || accepts(schema, (text) => ({ name: text }));

/** Where a schema takes such a text, as a value or as the name of a member. */
function* taking(schema: z.ZodType, path: string, within: readonly z.ZodType[] = []): Generator<string> {
  if (within.includes(schema)) return; // a condition of conditions
  const inside = [...within, schema];
  const definition = definitionOf(schema);
  switch (definition.type) {
    case 'object':
      for (const [name, member] of Object.entries(definition.shape)) yield* taking(member, `${path}.${name}`, inside);
      return;
    case 'record':
      if (takesInRecord(schema)) yield path;
      return;
    case 'array':
      return yield* taking(definition.element, `${path}[]`, inside);
    case 'union':
      for (const option of definition.options) yield* taking(option, path, inside);
      return;
    case 'pipe':
      // What the first half of a pipe takes as a text, the second may refuse.
      if (['string', 'unknown'].includes(definitionOf(definition.in).type) && !accepts(schema, (text) => text)) return;
      if (definitionOf(definition.out).type === 'record' && !takesInRecord(schema)) return;
      return yield* taking(
        definitionOf(definition.in).type === 'transform' ? definition.out : definition.in,
        path,
        inside,
      );
    case 'lazy':
      return yield* taking(definition.getter(), path, inside);
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
    case 'catch':
    case 'readonly':
    case 'nonoptional':
      if (['string', 'unknown'].includes(definitionOf(definition.innerType).type) && !accepts(schema, (text) => text))
        return;
      return yield* taking(definition.innerType, path, inside);
    case 'string':
    case 'unknown':
    case 'any':
    case 'custom':
      if (accepts(schema, (text) => text)) yield path;
  }
}

const isOperation = (value: unknown): value is Operation =>
  typeof value === 'object' && value !== null && 'method' in value;
const operations = (Object.values(contract) as unknown[]).filter(isOperation);

it('no body of the contract takes a text or a name that cannot be stored', () => {
  const found = operations.flatMap(({ id, body }) => (body ? [...taking(body, `${id} body`)] : []));
  expect(found.filter((path) => !CHECKED_BY_THE_SERVER.some((pattern) => pattern.test(path)))).toEqual([]);
  expect(CHECKED_BY_THE_SERVER.filter((pattern) => !found.some((path) => pattern.test(path)))).toEqual([]);
});

it('no filter of a file, which its job stores as JSON, takes one', () => {
  const found = operations
    .filter(({ id }) => /^(?:export|report)/.test(id))
    .flatMap(({ id, query }) =>
      Object.entries(query?.shape ?? {})
        .filter(([, member]) =>
          UNSTORABLE.some((text) => {
            const { success, data } = member.safeParse(text);
            return success && !isStorableJson(data);
          }),
        )
        .map(([name]) => `${id} query.${name}`),
    );
  expect(found).toEqual([]);
});

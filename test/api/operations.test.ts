import { expect, test } from 'vitest';
import type { Operation } from '../../api/core/operation.ts';
import * as contract from '../../api/operations.ts';
import { openApiDocument } from '../../server/http/openapi.ts';
import { routes } from '../../server/routes.ts';

type Json = Record<string, unknown>;
type Described = { operationId: string; requestBody?: object; responses: Json };

const SETTINGS = { publicUrl: 'https://millrace.example', version: '1' };
/** Members of an object that an answer spells out instead of naming it: more is a record. */
const MAX_INLINE_MEMBERS = 5;

const isOperation = (value: unknown): value is Operation =>
  typeof value === 'object' && value !== null && 'id' in value && 'method' in value;

test('each operation is exported under its id, and served', () => {
  const exported = Object.entries(contract).flatMap(([name, value]): [string, Operation][] =>
    isOperation(value) ? [[name, value]] : [],
  );
  expect(exported.length).toBeGreaterThan(150);
  expect(exported.filter(([name, { id }]) => name !== id)).toEqual([]);
  const served = routes.map(({ id }) => id);
  expect(exported.map(([name]) => name).filter((name) => !served.includes(name))).toEqual([]);
  expect(served.filter((id, index) => served.indexOf(id) !== index || !/^[a-z][A-Za-z]+$/.test(id))).toEqual([]);
});

test('each member of a path is a parameter of its operation', () => {
  const named = (path: string) => [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
  const isOdd = ({ path, params }: Operation) =>
    named(path).toSorted().join() !==
    Object.keys(params?.shape ?? {})
      .toSorted()
      .join();
  expect(routes.filter(isOdd)).toEqual([]);
});

test.each([
  [contract.listCustomerProfiles, 'num_per_page', 10_000, 2_000],
  [contract.listEvents, 'per_page', 10_000, 1_000],
  [contract.listDeviceEvents, 'per_page', 10_000, 1_000],
  [contract.listUserEvents, 'per_page', 10_000, 1_000],
  [contract.listSessions, 'per_page', 10_000, 1_000],
  [contract.listDevices, 'per_page', 10_000, 1_000],
  [contract.listSegmentDevices, 'per_page', 10_000, 1_000],
  [contract.listLocations, 'per_page', 10_000, 1_000],
  [contract.reportMessages, 'page_size', 5_000, 5_000],
])('the pages of $id have the sizes of the reference', ({ query }, field, most, otherwise) => {
  const read = (given: object) => {
    const { success, data } = query!.safeParse(given);
    return success ? (data as Json)[field] : 'refused';
  };
  expect([read({}), read({ [field]: '1' }), read({ [field]: String(most) })]).toEqual([otherwise, 1, most]);
  for (const outside of [0, -1, most + 1]) expect([otherwise, 'refused']).toContain(read({ [field]: String(outside) }));
});

test('the OpenAPI document names each operation and each record once', () => {
  const { paths, components } = openApiDocument(routes, SETTINGS) as {
    paths: Record<string, Record<string, Described>>;
    components: { schemas: Record<string, Json> };
  };
  const described = Object.values(paths).flatMap((path) => Object.values(path));
  const ids = described.map(({ operationId }) => operationId);
  expect(ids.toSorted()).toEqual(routes.map(({ id }) => id).toSorted());
  const names = new Set(refsIn([paths, components]));
  expect([...names].filter((name) => !(name in components.schemas) && name !== 'Refusal')).toEqual([]);
  expect(Object.keys(components.schemas).filter((name) => !names.has(name))).toEqual([]);
  const unnamed = described.filter(({ responses }) => spelledOut(responses));
  expect(unnamed.map(({ operationId }) => operationId)).toEqual([]);
});

function refsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === '$ref' ? [(member as string).split('/').at(-1)!] : refsIn(member),
  );
}

function spelledOut(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { properties } = value as { properties?: object };
  return Object.keys(properties ?? {}).length > MAX_INLINE_MEMBERS || Object.values(value).some(spelledOut);
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { cursorBehind } from '../../activities/syncs/cursor.ts';
import { named, noticedChange } from '../../activities/syncs/schema.ts';
import { MAX_SOURCE_DOCUMENT_BYTES } from '../../activities/syncs/stored-size.ts';
import { storedBytes } from '../../domain/json/json-size.ts';
import { schemaChange } from '../../domain/syncs/schema-change.ts';
import { membersOf, withStoredDocuments } from '../../server/http/stored-documents.ts';
import { routes } from '../../server/routes.ts';

/** The schema alone may let a member of a body have so many bytes as JSON: more needs a bound of its own. */
const BY_SCHEMA_BYTES = 256 * 1024;
/** No document has more. */
const MOST_BYTES = 1024 ** 2;

/** Members without a bound in bytes: what bounds each of them. */
const BOUNDED_OTHERWISE: Record<string, string> = {
  'createApp.domains, updateApp.domains': 'ignored, or as many host names as app-change.ts takes',
  'createApp.app_groups, updateApp.app_groups': 'names groups that exist: a row each',
  'createAppGroup.apps, updateAppGroup.apps': 'names apps that exist: a row each',
  'createApiKey.api_key, updateApiKey.api_key': 'has the length of a key: apiKeyError',
  'createDataExporter.encryption_type, updateDataExporter.encryption_type': 'is one of ENCRYPTION_TYPES',
  'createDataExporter.export_since, updateDataExporter.export_since': 'is a date, and stored as one',
  'countPersonDays.until': 'is a date, and stored nowhere',
  'addSegmentPeople.ids, removeSegmentPeople.ids': 'ids of people: a row each, and too long ones are refused',
  'requestAccess.users, requestDeletion.users, readmitPeople.users, readmitPeople.devices, testCampaign.users':
    'ids of people: a row each',
  'inviteUser.enable, updateUser.enable': 'has rights by name, and flags',
  'inviteUser.password, updateUser.password': 'is refused',
  'feedAttributeValues.customer_attribute_values': 'waits until it is merged: bytes kept are counted',
  'importAttributeValues.file_url, importWithToken.file_url': 'has the length of an address: sourceUrlError',
  'importAttributeValues.request_headers, importWithToken.request_headers':
    'has the size of headers: requestHeadersError',
  'sendMessages.messages, sendPushMessages.messages': 'a row each, whose values have a bound: templateVars',
};
const listed = Object.keys(BOUNDED_OTHERWISE).flatMap((names) => names.split(', '));

const members = routes.flatMap(membersOf);
const documents = members.filter(({ maxBytes }) => maxBytes !== null);

test('each member of a body has few bytes by its schema, or a bound in bytes, or another one that is listed', () => {
  const large = members
    .filter(({ mostBytes, maxBytes }) => mostBytes > BY_SCHEMA_BYTES && maxBytes === null)
    .map(({ id, member }) => `${id}.${member}`);
  expect(large.toSorted()).toEqual(listed.toSorted());
  expect(documents.filter(({ maxBytes }) => maxBytes! > MOST_BYTES)).toEqual([]);
  const known = documents.map(({ member }) => member);
  expect(known).toEqual(expect.arrayContaining(['steps', 'filters', 'params', 'variants', 'settings', 'text']));
});

/** A document of so many bytes as Postgres writes it: {"a": "…"}. */
const documentOf = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a": ""}'.length) });

test.each(documents)('$id takes at most $maxBytes bytes as $member', ({ id, member, maxBytes }) => {
  const { shape } = routes.find((route) => route.id === id)!.body as z.ZodObject;
  const schema = shape[member] as z.ZodType;
  const tooLarge = (given: unknown) =>
    (schema.safeParse(given).error?.issues ?? []).filter(({ message }) => message.endsWith('KiB as JSON'));
  const refusal = [expect.objectContaining({ path: [], message: `must have at most ${maxBytes! / 1024} KiB as JSON` })];
  expect(storedBytes(documentOf(maxBytes!), Infinity)).toBe(maxBytes);
  expect(tooLarge(documentOf(maxBytes!))).toEqual([]);
  expect(tooLarge(documentOf(maxBytes! + 1))).toEqual(refusal);
  // Postgres writes 309 digits for each of these.
  const digits = Array.from({ length: Math.ceil(maxBytes! / 309) }, () => 1e308);
  expect(tooLarge(digits)).toEqual(refusal);
});

test('what a sync keeps of its source has a bound in bytes, and a source that gives more is refused', () => {
  const refusal = (what: string) =>
    expect.objectContaining({
      status: 'source_refused',
      message: expect.stringMatching(`^The ${what} of the source has more than 1024 KiB as JSON`) as string,
    });
  const largest = documentOf(MAX_SOURCE_DOCUMENT_BYTES);
  expect(JSON.parse(cursorBehind({ cursor: largest })!)).toEqual(largest);
  expect(() => cursorBehind({ cursor: documentOf(MAX_SOURCE_DOCUMENT_BYTES + 1) })).toThrow(refusal('cursor'));
  const fields = (count: number, name = 'field') =>
    Array.from({ length: count }, (_, n) => ({ name: `${name} ${n}`, type: 'string' as const }));
  expect(named(fields(10_000))).toHaveLength(10_000);
  expect(() => named(fields(100_000))).toThrow(refusal('list of fields'));
  // Two lists that may be stored, of which the change has every field of both.
  const change = schemaChange(named(fields(20_000)), named(fields(20_000, 'other')));
  expect(() => noticedChange(null, change)).toThrow(refusal('change of fields'));
  const small = schemaChange(named(fields(10)), named(fields(20)));
  expect(noticedChange(null, small)).toMatchObject({ added: fields(20).slice(10) });
  // A run may notice several.
  expect(() => noticedChange(small, change)).toThrow(refusal('change of fields'));
});

test('the page on security names each document with its bound', async () => {
  const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'security.md'), 'utf8');
  expect(withStoredDocuments(page, routes)).toBe(page);
});

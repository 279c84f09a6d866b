import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readBatch } from '../../../domain/tracking/read-call.ts';
import { sampledRuns } from '../../harness/run/seed.ts';
import { anyJson, read } from './any-call.ts';

test('whatever JSON is sent as a batch, it is read or refused by a field', () => {
  fc.assert(
    fc.property(
      fc.oneof(anyJson, fc.record({ batch: fc.array(anyJson), sentAt: anyJson, context: anyJson })),
      (body) => {
        const outcome = readBatch(body);
        if ('batch' in outcome) expect(outcome.batch.calls).toBe((body as { batch: unknown }).batch);
        else expect(outcome.refused.message).toMatch(/^(?:body|batch|sentAt|context): ./);
      },
    ),
    { numRuns: sampledRuns(500) },
  );
});

test('a batch tells its calls, its key, when it was sent and what they have in common', () => {
  const context = { app: { version: '1' } };
  const body = { batch: [{ type: 'page' }], sentAt: '2026-03-01T12:00:00Z', writeKey: 'k', context, integrations: {} };
  expect(readBatch(body)).toEqual({
    batch: { calls: [{ type: 'page' }], sentAt: Date.parse('2026-03-01T12:00:00Z'), writeKey: 'k', context },
  });
  expect(readBatch({ batch: [] })).toEqual({ batch: { calls: [], sentAt: null, writeKey: null, context: {} } });
});

test('2,500 calls are taken, one more is too many', () => {
  const calls = (count: number) => ({ batch: Array.from({ length: count }, () => null) });
  expect(readBatch(calls(2_500))).toHaveProperty('batch');
  expect(readBatch(calls(2_501))).toMatchObject({
    refused: { code: 'too_large', message: expect.stringMatching(/^batch: /) },
  });
});

test("a batch's context is refused where its calls together would carry over 2 MiB of it", () => {
  const batch = (calls: number, bytes: number) => ({
    batch: Array.from({ length: calls }, () => null),
    context: { traits: 'x'.repeat(bytes - '{"traits":""}'.length) },
  });
  expect(readBatch(batch(2_048, 1_024))).toHaveProperty('batch');
  const told = /^context: must have at most 1024 bytes as JSON beneath 2048 calls/;
  expect(readBatch(batch(2_048, 1_025))).toMatchObject({
    refused: { code: 'too_large', message: expect.stringMatching(told) },
  });
  expect(readBatch(batch(4, 500_000))).toHaveProperty('batch');
});

test.each([
  [[], 'body'],
  [null, 'body'],
  [{}, 'batch'],
  [{ batch: {} }, 'batch'],
  [{ batch: [], sentAt: 5 }, 'sentAt'],
  [{ batch: [], context: 'x' }, 'context'],
])('%j is refused by its %s', (body, field) => {
  expect(readBatch(body)).toMatchObject({
    refused: { code: 'invalid', message: expect.stringMatching(new RegExp(`^${field}: `)) },
  });
});

test("a call's own context goes before its batch's, member by member", () => {
  const batchContext = {
    app: { version: '1', namespace: 'com.example' },
    locale: 'fr-FR',
    traits: { plan: 'gold', seats: 1 },
  };
  const context = { app: { version: '2' }, locale: 'de', traits: { seats: 2 } };
  const call = read({ type: 'page', userId: 'ada', context }, { batchContext });
  expect(call.context).toMatchObject({ appVersion: '2', appNamespace: 'com.example', lang: 'de', country: null });
  expect(call.traits).toEqual([
    { sor: 'app', key: 'plan', value: 'gold' },
    { sor: 'app', key: 'seats', value: 2 },
  ]);
});

import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parseExactJson } from '../../../domain/json/exact-json.ts';
import { parseJsonAtOnce, ProtoError } from '../../../domain/json/parse-json.ts';
import { readCall } from '../../../domain/tracking/read-call.ts';
import type { CallType, Call } from '../../../domain/tracking/call.ts';
import { sampledRuns } from '../../harness/run/seed.ts';
import { anyCall, anyJson, BY, read, refusal } from './any-call.ts';

const CODES = ['invalid', 'too_large', 'too_old', 'in_the_future', 'nobody'];

describe('whatever JSON is sent', () => {
  it('each call is read or refused, under its index', () => {
    let reads = 0;
    fc.assert(
      fc.property(fc.oneof(anyJson, anyCall), fc.nat(2_500), fc.option(anyJson), (given, index, context) => {
        const batchContext =
          typeof context === 'object' && context !== null && !Array.isArray(context) ? { ...context } : {};
        const outcome = readCall(given, index, { ...BY, batchContext });
        if ('refused' in outcome) {
          expect(outcome.refused.index).toBe(index);
          expect(CODES).toContain(outcome.refused.code);
          expect(outcome.refused.message).toMatch(/^(?:[a-zA-Z.]+: |a call )./);
        } else {
          reads += 1;
          expectSound(outcome.call, index);
        }
      }),
      { numRuns: sampledRuns(3_000) },
    );
    expect(reads).toBeGreaterThan(sampledRuns(300));
  });

  it('is refused where it nests deeper than any stack goes', () => {
    const deep = (levels: number): unknown => parseExactJson(`${'['.repeat(levels)}${']'.repeat(levels)}`);
    const call = (levels: number) => ({
      type: 'track',
      event: 'Bought',
      userId: 'ada',
      properties: { a: deep(levels) },
    });
    expect(refusal(call(5_000))).toMatchObject({
      code: 'invalid',
      message: 'a call must not nest deeper than 64 levels',
    });
    expect(refusal(call(63)).code).toBe('invalid');
    expect(read(call(62)).event?.detail).toEqual({ a: deep(62) });
  });
});

/** Nothing in it that Postgres refuses, and a time within the limits. */
function expectSound(call: Call, index: number): void {
  expect(call.index).toBe(index);
  expect(call.userId ?? call.deviceId).not.toBeNull();
  expect(Number.isInteger(call.happenedAt)).toBe(true);
  expect(call.happenedAt).toBeGreaterThanOrEqual(BY.oldest);
  expect(call.happenedAt).toBeLessThanOrEqual(BY.newest);
  const json = JSON.stringify(call);
  expect(json).not.toMatch(/\\u(?:0000|d[89a-f])/);
  expect(JSON.parse(json)).toEqual(call);
  expect(call.event === null).toBe(['identify', 'group', 'alias'].includes(call.type));
  expect(call.event === null || /^[\da-f]{64}$/.test(call.event.fingerprint ?? '') === (call.event.logType === 1)).toBe(
    true,
  );
  expect([...(call.event?.name ?? 'x')].length).toBeLessThanOrEqual(256);
  const { latitude, longitude, country, lang, utcOffset } = call.context;
  expect(latitude === null).toBe(longitude === null);
  expect(country ?? 'FR').toMatch(/^[A-Z]{2}$/);
  expect(lang ?? 'fr').toMatch(/^[a-z]{2,3}$/);
  expect(Math.abs(utcOffset ?? 0)).toBeLessThan(24 * 60);
  expect(new Set(call.traits.map(({ sor, key }) => `${sor} ${key}`)).size).toBe(call.traits.length);
}

test('what is wrong with a call is told with its message id, by the field, without quoting anybody', () => {
  const sound = { type: 'track', messageId: 'm1', event: 'Bought', userId: 'ada' };
  const cases: [object, code: string, field: string][] = [
    [{ ...sound, type: 'delete' }, 'invalid', 'type'],
    [{ ...sound, type: undefined }, 'invalid', 'type'],
    [{ ...sound, context: 'x' }, 'invalid', 'context'],
    [{ ...sound, userId: true }, 'invalid', 'userId'],
    [{ ...sound, userId: 'a\nb' }, 'invalid', 'userId'],
    [{ ...sound, userId: 'a'.repeat(257) }, 'invalid', 'userId'],
    [{ ...sound, anonymousId: ['a'] }, 'invalid', 'anonymousId'],
    [{ ...sound, context: { device: { id: 'a\0' } } }, 'invalid', 'context.device.id'],
    [{ ...sound, userId: '', anonymousId: null }, 'nobody', 'userId'],
    [{ ...sound, timestamp: 1_700_000_000 }, 'invalid', 'timestamp'],
    [{ ...sound, originalTimestamp: 'yesterday' }, 'invalid', 'originalTimestamp'],
    [{ ...sound, sentAt: '2026-02-30T00:00:00Z' }, 'invalid', 'sentAt'],
    [{ ...sound, event: undefined }, 'invalid', 'event'],
    [{ ...sound, event: 5 }, 'invalid', 'event'],
    [{ ...sound, event: 'é'.repeat(257) }, 'invalid', 'event'],
    [{ ...sound, properties: 'x' }, 'invalid', 'properties'],
    [{ ...sound, type: 'page', name: {} }, 'invalid', 'name'],
    [{ ...sound, type: 'screen', name: 'a'.repeat(250) }, 'invalid', 'name'],
    [{ ...sound, type: 'identify', traits: [1] }, 'invalid', 'traits'],
    [{ ...sound, type: 'group' }, 'invalid', 'groupId'],
    [{ ...sound, type: 'alias' }, 'invalid', 'previousId'],
    [{ ...sound, type: 'alias', previousId: 'p', userId: null, anonymousId: 'a' }, 'invalid', 'userId'],
  ];
  for (const [call, code, field] of cases) {
    const refused = refusal(call);
    expect(refused).toMatchObject({ index: 7, messageId: 'm1', code });
    expect(refused.message).toMatch(new RegExp(`^${field}: `));
  }
  for (const call of [null, [], 'track', 5, parseExactJson('1.0')]) {
    expect(refusal(call)).toMatchObject({ code: 'invalid', messageId: null });
  }
});

test('a member named __proto__ refuses the call that has it, wherever it stands', () => {
  const json = '{"__proto__":{"odd":1}}';
  const odd = parseJsonAtOnce(Buffer.from(json), { maxNesting: 9, exactNumbers: true, proto: 'keep' }) as object;
  const sound = { type: 'identify', userId: 'ada' };
  const message = 'a call must not have a member named __proto__';
  for (const more of [odd, { traits: odd }, { traits: { a: odd } }, { context: { traits: [odd] } }]) {
    expect(refusal({ ...sound, ...more })).toMatchObject({ code: 'invalid', message });
  }
  expect(JSON.stringify(odd)).toBe(json);
  const large = `{"a":[${'1,'.repeat(100_000)}1],${json.slice(1)}`;
  const parsed = parseJsonAtOnce(Buffer.from(large), { maxNesting: 9, proto: 'keep' });
  expect([Object.keys(parsed as object), (parsed as { odd?: number }).odd]).toEqual([['a', '__proto__'], undefined]);
  expect(() => parseJsonAtOnce(Buffer.from(large), { maxNesting: 9, proto: 'refuse' })).toThrow(ProtoError);
});

test('a message id is a text of up to 256 characters, and may be left out', () => {
  const call = (messageId: unknown) => ({ type: 'track', event: 'Bought', userId: 'ada', messageId });
  expect(read(call(undefined)).messageId).toBeNull();
  expect(read(call('')).messageId).toBeNull();
  expect(read(call(12)).messageId).toBe('12');
  expect(read(call('😀'.repeat(256))).messageId).toBe('😀'.repeat(256));
  expect(refusal(call('😀'.repeat(257)))).toMatchObject({ code: 'invalid', messageId: '😀'.repeat(128) });
  expect(refusal(call({}))).toMatchObject({ code: 'invalid', messageId: null });
});

test('a call of 32 KiB is read, of one byte more refused', () => {
  const call = (length: number) => ({
    type: 'track',
    event: 'Bought',
    userId: 'ada',
    properties: { text: 'x'.repeat(length) },
  });
  const room = 32 * 1_024 - JSON.stringify(call(0)).length;
  expect(read(call(room)).event?.detail).toEqual({ text: 'x'.repeat(room) });
  expect(refusal(call(room + 1))).toMatchObject({ code: 'too_large' });
});

test('the path of a single call says its type', () => {
  for (const type of ['track', 'page', 'screen', 'identify', 'group', 'alias'] satisfies CallType[]) {
    expect(
      read({ type: 'nonsense', userId: 'ada', event: 'Bought', groupId: 'g', previousId: 'p' }, { type }).type,
    ).toBe(type);
  }
});

describe('whom a call is of', () => {
  const of = (members: object) => {
    const { userId, deviceId, previousId } = read({ type: 'alias', userId: 'ada', previousId: 'p', ...members });
    return [userId, deviceId, previousId];
  };

  it('may be told by numbers, which keep their digits', () => {
    const call = parseExactJson('{"type":"alias","userId":9007199254740993,"anonymousId":12.0,"previousId":5}');
    expect(readCall(call, 0, BY)).toMatchObject({
      call: { userId: '9007199254740993', deviceId: '12', previousId: '5' },
    });
  });

  it('is the device by its own id, else by the anonymous one', () => {
    expect(of({ anonymousId: 'anon', context: { device: { id: 'D1' } } })).toEqual(['ada', 'D1', 'p']);
    expect(of({ anonymousId: 'anon' })).toEqual(['ada', 'anon', 'p']);
    for (const id of ['', null, 'unknown', '00000000-0000-0000-0000-000000000000']) {
      expect(of({ anonymousId: 'anon', context: { device: { id } } })).toEqual(['ada', 'anon', 'p']);
    }
  });

  it('is up to 256 characters', () => {
    expect(of({ userId: '😀'.repeat(256) })[0]).toBe('😀'.repeat(256));
  });
});

test.each([
  ['f'.repeat(64), 'f'.repeat(64)],
  ['<740f4707 bebcf74f 9b7c25d4>', '740f4707bebcf74f9b7c25d4'],
  ['{length = 32, bytes = 0x740f4707 bebcf74f ... 61bb78ad }', null],
  ['{length=32,bytes=0x740f4707bebcf74f...61bb78ad}', null],
  ['(null)', null],
  ['null', null],
])('a push token that an app sends as %s is %s', (token, expected) => {
  expect(
    read({ type: 'track', event: 'Opened', anonymousId: 'a', context: { device: { token } } }).context.pushToken,
  ).toBe(expected);
});

test.each(['000000000000', '0000-0000', '00000000-0000-0000-0000-000000000000', '9774D56D682E549C'])(
  'the id %s, which many devices have, is none',
  (id) => {
    expect(read({ type: 'track', event: 'Opened', anonymousId: 'a', context: { device: { id } } }).deviceId).toBe('a');
    expect(read({ type: 'track', event: 'Opened', userId: 'ada', anonymousId: id })).toMatchObject({
      userId: 'ada',
      deviceId: null,
    });
    expect(refusal({ type: 'track', event: 'Opened', anonymousId: id })).toMatchObject({ code: 'nobody' });
  },
);

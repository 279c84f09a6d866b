import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parseExactJson } from '../../../domain/json/exact-json.ts';
import { readCall } from '../../../domain/tracking/read-call.ts';
import { cpuTime } from '../../harness/core/cpu-time.ts';
import { BY, read } from './any-call.ts';

const eventOf = (call: object) => read({ userId: 'ada', ...call }).event;
const tracked = (event: string, properties?: object) => eventOf({ type: 'track', event, properties })!;

test.each([
  ['page', { name: 'Home' }, 'Viewed Home Page'],
  ['page', { category: 'Docs', name: 'Feed' }, 'Viewed Docs Feed Page'],
  ['page', {}, 'Loaded a Page'],
  ['screen', { name: '', category: '' }, 'Loaded a Screen'],
  ['screen', { name: 'Cart' }, 'Viewed Cart Screen'],
  ['page', { properties: { name: 'Home', category: 'Docs' } }, 'Viewed Docs Home Page'],
  ['page', { category: 'Docs' }, 'Viewed Docs Page'],
  ['screen', { name: 404 }, 'Viewed 404 Screen'],
  ['page', { name: 'a'.repeat(244) }, `Viewed ${'a'.repeat(244)} Page`],
])('a %s %j is the event %s', (type, call, name) => {
  expect(eventOf({ type, ...call })).toMatchObject({ logType: 2, name });
});

test('an event keeps its properties, to the last digit', () => {
  const call = parseExactJson(
    '{"type":"track","userId":"a","event":"\\u0000 \\ud800","properties":' +
      '{"a":[-0,1.50,9007199254740993,1e999],"b\\u0000":{"c":"\\udfff"}}}',
  );
  const detail = { a: [0, 1.5, '9007199254740993', '1e999'], 'b\uFFFD': { c: '\uFFFD' } };
  expect(readCall(call, 0, BY)).toMatchObject({ call: { event: { name: '\uFFFD \uFFFD', detail, logType: 2 } } });
  for (const properties of [undefined, null, {}, []])
    expect(eventOf({ type: 'track', event: 'x', properties })?.detail).toBeNull();
});

test('identify, group and alias are no events', () => {
  for (const type of ['identify', 'group', 'alias'])
    expect(eventOf({ type, groupId: 'g', previousId: 'p', event: 'x' })).toBeNull();
});

test.each([
  ['Application Backgrounded', {}, 3, 'background'],
  ['Application Opened', { from_background: false }, 3, 'foreground'],
  ['Application Foregrounded', {}, 3, 'foreground'],
  ['Application Installed', {}, 2, null],
  ['Application Crashed', {}, 1, null],
  ['Payment', { log_type: 1 }, 1, null],
  ['Payment', { log_type: 'error' }, 1, null],
  ['Payment', { log_type: 3 }, 2, null],
  ['application crashed', {}, 2, null],
])('%s %j is of log type %j, to the %s', (name, properties, logType, transition) => {
  expect(tracked(name, properties)).toMatchObject({ name, logType, transition });
});

describe('errors of one kind', () => {
  const crash = (properties: object) => tracked('Application Crashed', properties);
  const javaScript = (line: number, message: string) =>
    crash({
      name: 'Ada',
      error: {
        name: 'TypeError',
        message,
        stack: `TypeError: ${message}\n    at pay (https://x.example/app.js:${line}:7)`,
      },
    });
  const apple = (address: string, offset: number) =>
    crash({
      exception: 'NSRangeException: index 5',
      stacktrace: [`0   Shop   0x${address} -[Cart pay] + ${offset}`],
    });
  const java = (line: number) =>
    crash({
      exception_type: 'NullPointerException',
      message: 'null',
      stackTrace: `NullPointerException: null\n\tat shop.Cart.pay(Cart.java:${line})`,
    });
  const frames = (line: number) =>
    crash({
      exception: { type: 'KeyError', frames: [{ file: 'cart.py', function: 'pay', line }] },
      message: 'no',
    });

  it('are grouped whatever the line, the address and the message', () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.string(), (first, second, message) => {
        expect(javaScript(first, message.replaceAll('\n', '')).fingerprint).toBe(javaScript(second, 'x').fingerprint);
        expect(apple(first.toString(16), second).fingerprint).toBe(apple(second.toString(16), first).fingerprint);
        expect(java(first).fingerprint).toBe(java(second).fingerprint);
        expect(frames(first).fingerprint).toBe(frames(second).fingerprint);
      }),
    );
  });

  it('are others than those of another name, type or frame', () => {
    const kinds = [
      javaScript(1, 'x'),
      apple('1', 1),
      java(1),
      frames(1),
      crash({}),
      crash({ message: 'disk full' }),
      crash({ error: 'no network' }),
      crash({ exception: { type: 'KeyError', frames: [{ file: 'cart.py', function: 'add' }] } }),
      crash({ exception: { type: 'KeyError' } }),
      tracked('Payment failed', { log_type: 1 }),
    ];
    expect(new Set(kinds.map(({ fingerprint }) => fingerprint)).size).toBe(kinds.length);
    expect(crash({ exception: 'Index 5 out of range' }).fingerprint).toBe(
      crash({ exception: 'Index 17 out of range' }).fingerprint,
    );
    expect(crash({ message: 'order 5 failed' }).fingerprint).toBe(crash({ message: 'order 17 failed' }).fingerprint);
  });

  it('are called by their message, else by their type, else by the name of the event', () => {
    const titles = [
      javaScript(1, 'x is undefined'),
      apple('1', 1),
      crash({ reason: 'out of memory' }),
      crash({ error: 'no network' }),
      crash({ error: { name: 'RangeError' } }),
      crash({}),
      crash({ message: 'x'.repeat(1_000) }),
    ].map(({ crashTitle }) => crashTitle);
    expect(titles).toEqual([
      'x is undefined',
      'NSRangeException: index 5',
      'out of memory',
      'no network',
      'RangeError',
      'Application Crashed',
      'x'.repeat(256),
    ]);
  });
});

test('a stack made to be looked at for long is looked at briefly', () => {
  const stack = Array.from({ length: 62 }, () => '@'.repeat(499)).join('\n');
  expect(
    cpuTime(() => {
      for (let calls = 0; calls < 15; calls += 1)
        read({ type: 'track', event: 'Application Crashed', userId: 'ada', properties: { stack } });
    }),
  ).toBeLessThan(100);
});

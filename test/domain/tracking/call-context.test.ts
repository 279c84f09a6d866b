import { describe, expect, it, test } from 'vitest';
import { pushTokenOf } from '../../../domain/tracking/call-context.ts';
import { read } from './any-call.ts';

const contextOf = (context: object, timestamp?: string) =>
  read({ type: 'page', userId: 'ada', context, timestamp }).context;

test.each([
  ['fr-FR', 'fr', 'FR'],
  ['fr_fr', 'fr', 'FR'],
  ['en-', 'en', null],
  ['EN', 'en', null],
  ['zh-Hans-CN', 'zh', 'CN'],
  ['zh-Hant', 'zh', null],
  ['es-419', 'es', null],
  ['fil-PH', 'fil', 'PH'],
  ['en-US-POSIX', 'en', 'US'],
  ['fr_FR@euro', 'fr', 'FR'],
  ['english', null, null],
  ['en-USA', 'en', null],
  ['', null, null],
  [5, null, null],
  [null, null, null],
])('the locale %j is %s in %s', (locale, lang, country) => {
  expect(contextOf({ locale })).toMatchObject({ lang, country });
});

test.each([
  ['be', 'BE'],
  ['BE', 'BE'],
  ['Belgium', null],
  ['BEL', null],
  ['', 'FR'],
  [null, 'FR'],
])('of the place %j the country is %s', (country, expected) => {
  expect(contextOf({ locale: 'fr-FR', location: { country } }).country).toBe(expected);
});

test.each([
  [90, -180, 90, -180],
  [0, 0, 0, 0],
  [90.1, 0, null, null],
  [1, 180.1, null, null],
  [1, undefined, null, null],
  ['1', '2', null, null],
])('the place %j, %j is %j, %j', (latitude, longitude, ...expected) => {
  const context = contextOf({ location: { latitude, longitude, speed: 5 } });
  expect([context.latitude, context.longitude]).toEqual(expected);
});

describe('the offset of a device', () => {
  it.each([
    ['Europe/Paris', '2026-02-01T12:00:00Z', 60],
    ['Europe/Paris', '2025-07-01T12:00:00Z', 120],
    ['Asia/Kolkata', '2026-02-01T12:00:00Z', 330],
    ['America/St_Johns', '2026-02-01T12:00:00Z', -210],
    ['UTC', '2026-02-01T12:00:00Z', 0],
    ['GMT', '2026-02-01T12:00:00Z', 0],
    ['GMT+02:00', '2026-02-01T12:00:00Z', 120],
    ['GMT-0330', '2026-02-01T12:00:00Z', -210],
    ['GMT-00:00', '2026-02-01T12:00:00Z', 0],
    ['GMT+15', '2026-02-01T12:00:00Z', null],
    ['Europe/Nowhere', '2026-02-01T12:00:00Z', null],
    ['CEST', '2026-02-01T12:00:00Z', null],
    ['x'.repeat(5_000), '2026-02-01T12:00:00Z', null],
  ])('in %s at %s is %j minutes', (timezone, timestamp, expected) => {
    expect(contextOf({ timezone }, timestamp).utcOffset).toBe(expected);
  });

  it('is that of the time when the call happened, across a change of clocks', () => {
    expect(contextOf({ timezone: 'Europe/Paris' }, '2025-10-26T00:59:59Z').utcOffset).toBe(120);
    expect(contextOf({ timezone: 'Europe/Paris' }, '2025-10-26T01:00:00Z').utcOffset).toBe(60);
  });
});

test.each([
  [{ device: { type: 'ios', model: 'iPhone14,2' }, os: { name: 'iOS' } }, 'iOS App', 'phone'],
  [{ device: { type: 'ios', model: 'iPad13,1' }, os: { name: 'iPadOS' } }, 'iOS App', 'pad'],
  [{ device: { type: 'watchos', model: 'Watch6,1' }, os: { name: 'watchOS' } }, 'iOS App', 'watch-app'],
  [{ device: { type: 'tvos', model: 'AppleTV6,2' }, os: { name: 'tvOS' } }, 'iOS App', null],
  [{ os: { name: 'iPhone OS' } }, 'iOS App', 'phone'],
  [{ library: { name: 'analytics-swift' } }, 'iOS App', null],
  [{ device: { type: 'android' }, screen: { width: 1_080, height: 2_400, density: 2.75 } }, 'Android App', 'phone'],
  [{ os: { name: 'Android' }, screen: { width: 1_600, height: 2_560, density: 2 } }, 'Android App', 'tablet'],
  [{ device: { type: 'android' }, os: { name: 'Wear OS' } }, 'Android App', 'wearable'],
  [{ library: { name: 'analytics-kotlin' } }, 'Android App', 'phone'],
  [{ library: { name: 'analytics.js' }, os: { name: 'iOS' }, userAgentData: { mobile: true } }, 'Web App', 'phone'],
  [{ library: { name: 'analytics.js' }, userAgentData: { mobile: false } }, 'Web App', null],
  [{ library: { name: '@segment/analytics-node' } }, null, null],
  [{ device: 'x', os: [], library: 5 }, null, null],
])('%j is of a %s on a %s', (context, platform, idiom) => {
  expect(contextOf(context)).toMatchObject({ platform, idiom });
});

test('what the system does not tell, and what is no text, is nothing', () => {
  const context = contextOf({
    app: { version: 545, namespace: 'undefined' },
    network: { carrier: 'unknown' },
    os: { version: {} },
    device: { model: ' ', token: 'a\0b', pushEnabled: 'x' },
    library: { version: 'x'.repeat(1_000) },
    optOut: true,
  });
  expect(context).toMatchObject({
    appVersion: '545',
    appNamespace: null,
    carrier: null,
    osVersion: null,
    deviceModel: null,
  });
  expect(context.pushToken).toBe('a\uFFFDb');
  expect(context).toMatchObject({ sdkVersion: 'x'.repeat(256), optIn: null, optOut: true });
});

test('a push token of which only the brackets came is none', () => {
  for (const empty of ['< >', '<>', '(null)']) expect(pushTokenOf(empty)).toBeNull();
  expect(pushTokenOf('<ab cd>')).toBe('abcd');
});

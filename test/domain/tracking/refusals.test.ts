import { expect, test } from 'vitest';
import { readingsOf } from '../../../domain/tracking/call-readings.ts';
import { REFUSAL_CODES } from '../../../domain/tracking/call.ts';
import { readCall } from '../../../domain/tracking/read-call.ts';
import { fixOfRefusal } from '../../../domain/tracking/sdk-line.ts';

const packageName = 'com.example.shop';
const by = { receivedAt: 1e12, sentAt: null, oldest: 0, newest: 2e12, sha256: () => '' };

/** Words that a page shows about a refused call. */
function fixOf(call: object) {
  const read = readCall(call, 0, by);
  if (!('refused' in read)) throw new Error('the call is accepted');
  return fixOfRefusal({ ...read.refused, call: JSON.stringify(call), packageName });
}

const user = { userId: 'ada' };
const library = (name: string) => ({ context: { library: { name } } });

test.each([
  [{ type: 'track', ...user }, "analytics.track({ userId: 'ada', event: '<name of the event>' })"],
  [
    { type: 'identify', ...user, traits: 'gold', ...library('analytics-swift') },
    'analytics.identify(userId: "ada", traits: { "<trait>": "<value>" })',
  ],
  [
    { type: 'track', event: 'Seen', ...library('analytics.js') },
    "analytics.identify('<id of the user>')\nanalytics.track('Seen')",
  ],
  [
    { type: 'track', ...user, event: 'Seen', timestamp: 5, ...library('analytics-python') },
    "analytics.track(user_id='ada', event='Seen', timestamp='2026-03-01T12:00:00.000Z')",
  ],
  [{ type: 'track', ...user, name: 'Seen' }, "analytics.track({ userId: 'ada', event: 'Seen' })"],
  [{ type: 'alias', ...user, ...library('analytics-kotlin') }, 'analytics.alias("ada", "<id before>")'],
])('a refused call is shown with the line that would be accepted: %j', (call, line) => {
  const { line: shown } = fixOf(call);
  expect(shown?.is).toBe(line);
  expect(shown?.was).not.toBe(shown?.is);
});

test('each code of a refusal says what to do, also for a call that was cut or not kept', () => {
  for (const code of REFUSAL_CODES)
    for (const call of [null, '{"type":"track","event":"Se…'])
      expect(fixOfRefusal({ code, message: 'event: must be a text', call, packageName })).toEqual({
        says: expect.stringMatching(/^[A-Z].+\.$/) as string,
        line: null,
      });
  const shared = { type: 'track', ...user, event: 'Seen' };
  expect(
    fixOfRefusal({ code: 'unknown_app', message: '', call: JSON.stringify(shared), packageName }).line?.is,
  ).toContain("context: { app: { namespace: 'com.example.shop' } }");
});

test('a refused call is read field by field, past the first that is wrong', () => {
  const call = {
    type: 'track',
    userId: 'ada',
    properties: 3,
    timestamp: 'yesterday',
    context: { app: { version: '7' } },
  };
  const read = Object.fromEntries(readingsOf(call, 1e12).map(({ field, ...rest }) => [field, rest.error ?? rest.read]));
  expect(read).toMatchObject({
    type: 'track',
    user: 'ada',
    device: null,
    timestamp: expect.stringContaining('ISO 8601') as string,
    properties: 'must be an object',
    'context.app.version': '7',
  });
  // A path of its own says the type of a single call, and the refusal the field that is wrong.
  const byPath = readingsOf({ name: 'Seen', anonymousId: 'd-1' }, 1e12, 'event: is required');
  expect(byPath.filter(({ error }) => error !== null)).toEqual([{ field: 'event', read: null, error: 'is required' }]);
  expect(readingsOf({ event: 'Seen', anonymousId: 'd-1' }, 1e12)).toContainEqual({
    field: 'type',
    read: 'track',
    error: null,
  });
});

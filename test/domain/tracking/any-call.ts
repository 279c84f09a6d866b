import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { parseExactJson } from '../../../domain/json/exact-json.ts';
import { type ReadBy, readCall } from '../../../domain/tracking/read-call.ts';
import type { RefusedCall, Call } from '../../../domain/tracking/call.ts';

export const RECEIVED_AT = Date.parse('2026-03-01T12:00:00.000Z');
export const DAY_MS = 86_400_000;

export const BY: ReadBy = {
  receivedAt: RECEIVED_AT,
  sentAt: null,
  oldest: RECEIVED_AT - 400 * DAY_MS,
  newest: RECEIVED_AT + DAY_MS,
  sha256: (text) => createHash('sha256').update(text).digest('hex'),
};

/** What a call comes to that has to be sound. */
export function read(given: object, by: Partial<ReadBy> = {}): Call {
  const outcome = readCall(parseExactJson(JSON.stringify(given)), 0, { ...BY, ...by });
  if ('refused' in outcome) throw new Error(`refused: ${outcome.refused.code} ${outcome.refused.message}`);
  return outcome.call;
}

/** Why a call is refused that has to be. */
export function refusal(given: unknown, by: Partial<ReadBy> = {}): RefusedCall {
  const outcome = readCall(given, 7, { ...BY, ...by });
  if ('call' in outcome) throw new Error('it was read');
  return outcome.refused;
}

const NAMES = [
  'type',
  'messageId',
  'userId',
  'anonymousId',
  'previousId',
  'groupId',
  'event',
  'name',
  'category',
  'properties',
  'traits',
  'context',
  'timestamp',
  'originalTimestamp',
  'sentAt',
  'device',
  'os',
  'app',
  'library',
  'network',
  'location',
  'screen',
  'locale',
  'timezone',

  'userAgentData',
  'id',
  'model',
  'version',
  'mobile',
  'width',
  'height',
  'density',
  'country',
  'latitude',
  'longitude',
  'address',
  'city',
  'birthday',
  'firstName',
  'log_type',
  'exception',
  'error',
  'message',
  'stack',
  'frames',
  'constructor',
  'toString',
  'batch',
  'writeKey',
];
const TEXTS = [
  '',
  'track',
  'page',
  'screen',
  'identify',
  'group',
  'alias',
  'ada',
  '2026-03-01T11:59:00Z',
  '2026-03-01',
  'ios',
  'android',
  'fr-FR',
  'Europe/Paris',
  'GMT+02:00',
  'Application Crashed',
  'Application Opened',
  'at f (a.js:1:2)',
  'error',
  'a\0b',
  '\ud800',
  'é😀',
];
const word = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...TEXTS) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 300 }) },
);
const number = fc
  .constantFrom('0', '-0', '1', '1.0', '1e3', '-12.5', '9007199254740993', '1e400', '-1e-400', `1${'0'.repeat(30)}`)
  .map((text) => parseExactJson(text));

/** JSON as `parseExactJson` gives it, with the names and texts that calls have. */
export const anyJson: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown; object: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    number,
    word,
    tie('object'),
    fc.array(tie('value'), { maxLength: 4 }),
  ),
  object: fc.dictionary(
    fc.oneof(fc.constantFrom(...NAMES), fc.string({ unit: 'binary', maxLength: 5 })),
    tie('value'),
    { maxKeys: 8 },
  ),
})).value;

/** A call that is sound but for whatever the generated members say. */
export const anyCall: fc.Arbitrary<unknown> = fc
  .tuple(
    fc.constantFrom('track', 'page', 'screen', 'identify', 'group', 'alias'),
    fc.dictionary(fc.constantFrom(...NAMES.filter((name) => name !== 'type')), anyJson, { maxKeys: 6 }),
  )
  .map(([type, members]) => ({ type, userId: 'ada', event: 'Bought', groupId: 'g', previousId: 'p', ...members }));

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { customerIdError, isWordForNothing, newCustomerIdError } from '../../../domain/attributes/customer-id.ts';
import { checkFeed } from '../../../domain/feed/feed-value.ts';
import { checkRow } from '../../../domain/imports/import-row.ts';
import { checkRecord } from '../../../domain/syncs/record-values.ts';
import { parseExactJson } from '../../../domain/json/exact-json.ts';
import { isNoDevice } from '../../../domain/tracking/call-fields.ts';
import { read, refusal } from '../tracking/any-call.ts';

test('a customer id has 1 to 256 code points', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('a', '@', 'é', '😀'), { maxLength: 260 }), (characters) => {
      const isSound = characters.length >= 1 && characters.length <= 256;
      expect(customerIdError(characters.join('')) === undefined).toBe(isSound);
    }),
  );
  expect(customerIdError('😀'.repeat(256))).toBeUndefined();
  expect(customerIdError('😀'.repeat(257))).toMatch('256');
  expect(customerIdError('')).toMatch('empty');
});

test('a customer id has no control characters and no half of a surrogate pair', () => {
  for (let code = 0; code <= 0x100; code += 1) {
    const isControl = code < 0x20 || (code >= 0x7f && code <= 0x9f);
    expect(customerIdError(`u${String.fromCodePoint(code)}`) !== undefined).toBe(isControl);
  }
  expect(customerIdError('u\udc00')).toMatch('surrogate');
});

const attributes = new Map([['plan', { id: 1, key: 'plan', valueType: 'String', disabled: false }]] as const);
const rules = { attributes, sorDisabled: false, sorDeleted: false };
const file = {
  format: 'csv',
  version: 'v2',
  columns: 3,
  delimiter: ',',
  decimal: '.',
  hasErrorColumns: false,
  ...rules,
} as const;

/** The fault that each way in finds in an id: undefined where it takes it. */
const WAYS: Record<string, (id: string) => string | undefined> = {
  file: (id) => messageOf(checkRow([id, 'plan', 'gold'], file as never)),
  feed(id) {
    const values = [{ customer_id: id, attribute_key: 'plan', attribute_value: 'gold' }];
    return checkFeed([{ id: 1, version: 3, receivedAt: new Date(0), values }], rules).errors[0]?.error.message;
  },
  sync: (id) =>
    messageOf(
      checkRecord({ customerId: id, values: [['plan', 'gold']], errors: [] }, rules, { field: 'id', type: 'user_id' })
        .refusals[0] ?? {},
    ),
};
const CALLS: Record<string, (id: string) => object> = {
  userId: (userId) => ({ type: 'track', event: 'Bought', userId }),
  anonymousId: (anonymousId) => ({ type: 'track', event: 'Bought', anonymousId }),
  'context.device.id': (id) => ({ type: 'track', event: 'Bought', context: { device: { id } } }),
  previousId: (previousId) => ({ type: 'alias', userId: 'ada', previousId }),
  groupId: (groupId) => ({ type: 'group', userId: 'ada', groupId }),
};

function messageOf(outcome: object): string | undefined {
  const { errorType, message } = outcome as { errorType?: string; message?: string };
  return errorType === 'INVALID_CUSTOMER_ID' ? message : undefined;
}

test('an id with an invisible character, or white space at an end, is refused on every way, with the name of the character', () => {
  const invisible = fc
    .constantFrom(
      '\u200b',
      '\u200d',
      '\ufeff',
      '\u2060',
      '\u00ad',
      '\u061c',
      '\u034f',
      '\u115f',
      '\u3164',
      '\uffa0',
      '\ufe0f',
      '\u206a',
      '\u{e0020}',
      '\u17b4',
      '\ufff9',
    )
    .chain((character) =>
      fc.nat(3).map((at) => ({ id: `ada${'x'.repeat(3)}`.slice(0, at) + character + 'byron', character })),
    );
  const space = fc
    .tuple(fc.constantFrom(' ', '\u00a0', '\u3000', '\u2003', '\u2800'), fc.boolean())
    .map(([character, isFirst]) => ({ id: isFirst ? `${character}ada` : `ada${character}`, character }));
  fc.assert(
    fc.property(fc.oneof(invisible, space), ({ id, character }) => {
      const code = `U+${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
      for (const say of Object.values(WAYS)) expect(say(id)).toContain(code);
      for (const [field, call] of Object.entries(CALLS)) {
        const { code: why, message } = refusal(call(id));
        expect([why, message.startsWith(`${field}: `), message.includes(code)]).toEqual(['invalid', true, true]);
      }
      expect(customerIdError(id)).toBeUndefined();
    }),
  );
  const variants = ['❤\ufe0f', 'ada ❤\ufe0f x', '1\ufe0f\u20e3', '🏴\u{e0067}\u{e0062}\u{e007f}', '葛\u{e0100}'];
  for (const id of ['ada byron', 'å', 'e\u0301', '😀', ...variants]) {
    for (const say of Object.values(WAYS)) expect(say(id)).toBeUndefined();
    expect(newCustomerIdError(id)).toBeUndefined();
  }
});

test('a word for nothing is a missing id in a call, and an id everywhere else', () => {
  const exact = ['None', 'nil', '<nil>', '(null)', '<null>', 'N/A', '\\N'];
  for (const word of ['undefined', 'null', '[object Object]', 'unknown', 'NaN', 'Unknown', 'NULL', ...exact]) {
    expect(isWordForNothing(word)).toBe(true);
    for (const say of Object.values(WAYS)) expect(say(word)).toBeUndefined();
    for (const field of ['userId', 'anonymousId', 'context.device.id'])
      expect(refusal(CALLS[field]!(word)).code).toBe('nobody');
    for (const field of ['previousId', 'groupId'])
      expect(refusal(CALLS[field]!(word)).message).toMatch(`${field}: must stand in`);
    const { userId, deviceId } = read({ type: 'track', event: 'Bought', userId: word, anonymousId: 'device' });
    expect([userId, deviceId]).toEqual([null, 'device']);
  }
});

test('zeros are no device, as a text or a number', () => {
  for (const zero of [0, -0, '0', '0.0', '00000000-0000-0000-0000-000000000000']) {
    for (const field of ['anonymousId', 'context.device.id'])
      expect(refusal(CALLS[field]!(zero as string)).code).toBe('nobody');
  }
  for (const zero of ['0.0', '-0', '0e0']) {
    expect(isNoDevice((parseExactJson(`[${zero}]`) as unknown[])[0])).toBe(true);
  }
});

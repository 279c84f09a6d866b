import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseAttributeValue, VALUE_TYPES, type ScalarType } from '../../../domain/attributes/attribute-value.ts';
import { cpuTime } from '../../harness/core/cpu-time.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

function valueOf(type: ScalarType, text: string) {
  const parsed = parseAttributeValue(type, text);
  return parsed.ok ? parsed.value : parsed.errorType;
}

test('an empty value is EMPTY_VALUE for every type', () => {
  for (const type of VALUE_TYPES as readonly ScalarType[]) expect(valueOf(type, '')).toBe('EMPTY_VALUE');
});

describe('a String', () => {
  test('has at most 256 code points, an astral character being one', () => {
    const unit = fc.constantFrom('a', 'é', '€', '😀');
    fc.assert(
      fc.property(fc.array(unit, { minLength: 250, maxLength: 262 }), (characters) => {
        const text = characters.join('');
        expect(valueOf('String', text)).toBe(characters.length <= 256 ? text : 'TOO_LONG_VALUE');
      }),
    );
    expect(valueOf('String', '😀'.repeat(256))).toBe('😀'.repeat(256));
    expect(valueOf('String', '😀'.repeat(257))).toBe('TOO_LONG_VALUE');
    expect(valueOf('String', 'a'.repeat(257))).toBe('TOO_LONG_VALUE');
  });

  test('keeps spaces and line ends, and refuses what Postgres cannot store', () => {
    expect(valueOf('String', ' a\r\nb\t')).toBe(' a\r\nb\t');
    expect(valueOf('String', 'a\0')).toBe('INVALID_VALUE');
    expect(valueOf('String', 'a\ud83d')).toBe('INVALID_VALUE');
  });
});

describe('a Number', () => {
  test.each([
    '0',
    '-0',
    '1',
    '-12.50',
    '9223372036854775807',
    '-9223372036854775807',
    '9007199254740993',
    '0.1',
    '9223372036854775806.9999999999999999999',
    `0.${'0'.repeat(399)}1`,
    '1.000000000000000000000000000000000000000000',
  ])('%s comes out as it went in', (text) => {
    expect(valueOf('Number', text)).toBe(text);
  });

  test.each([
    ['1e2', '100'],
    ['1E+2', '100'],
    ['12.5e1', '125'],
    ['12.5e-1', '1.25'],
    ['-1.5e-3', '-0.0015'],
    ['0e999999999', '0'],
    ['0.00e-5', '0'],
    ['9.223372036854775807e18', '9223372036854775807'],
    ['1e-400', `0.${'0'.repeat(399)}1`],
    ['0.0000000000000000000000000000000000000005e40', '5'],
    ['1e00000000000000000000001', '10'],
    ['92233720368547758070e-1', '9223372036854775807'],
  ])('%s is %s', (text, value) => {
    expect(valueOf('Number', text)).toBe(value);
  });

  test.each([
    '9223372036854775808',
    '-9223372036854775808',
    '9223372036854775807.1',
    '9.223372036854775808e18',
    '1e19',
    '1e400',
    '1e99999999999999999999',
    '-1e19',
    '99999999999999999999',
    '1e-401',
    '1e-99999999999999999999',
    `0.${'0'.repeat(400)}1`,
    '1.23456789012345678901234567890123456789',
    '123456789012345678901234567890123456789e-30',
    '01',
    '.5',
    '5.',
    '+1',
    '1e',
    '1e+',
    'e1',
    '-',
    '--1',
    '1,5',
    '1 ',
    ' 1',
    '0x10',
    'NaN',
    'Infinity',
    '1_000',
    '１',
    'true',
    '1\n',
  ])('%j is INVALID_VALUE', (text) => {
    expect(valueOf('Number', text)).toBe('INVALID_VALUE');
  });

  test('holds exactly the magnitudes up to 2**63 - 1, however they are written', () => {
    const limit = 2n ** 63n - 1n;
    const near = fc.bigInt({ min: limit - 20n, max: limit + 20n });
    const magnitudes = fc.bigInt({ min: 1n, max: 2n ** 70n });
    fc.assert(
      fc.property(fc.oneof(near, magnitudes), fc.nat({ max: 30 }), fc.boolean(), (magnitude, shift, isNegative) => {
        const sign = isNegative ? '-' : '';
        const expected = magnitude <= limit ? `${sign}${magnitude}` : 'INVALID_VALUE';
        const digits = String(magnitude);
        const point = digits.length - shift;
        const shifted =
          point > 0
            ? `${digits.slice(0, point)}.${digits.slice(point)}`.replace(/\.$/, '')
            : `0.${'0'.repeat(-point)}${digits}`;
        expect(valueOf('Number', `${sign}${digits}`)).toBe(expected);
        expect(valueOf('Number', `${sign}${shifted}e${shift}`)).toBe(expected);
        expect(valueOf('Number', `${sign}${digits}${'0'.repeat(shift)}E-${shift}`)).toBe(expected);
      }),
      { numRuns: sampledRuns(2000) },
    );
  });

  test('reads every double that JSON writes, and keeps its value', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, min: -9e18, max: 9e18 }), (double) => {
        const value = valueOf('Number', JSON.stringify(double));
        expect(value).toMatch(/^-?\d+(\.\d+)?$/);
        expect(Number(value) === double).toBe(true);
      }),
      { numRuns: sampledRuns(2000) },
    );
  });

  test('takes linear time on endless digits', () => {
    const zeros = '0'.repeat(5e5);
    expect(
      cpuTime(() => {
        for (const text of ['1'.repeat(1e6), `0.${zeros}`, `1${zeros}1${zeros}`, zeros, `0.1${zeros}1${zeros}`]) {
          expect(valueOf('Number', text)).toBe('INVALID_VALUE');
        }
      }),
    ).toBeLessThan(2_000);
  });
});

test('a Boolean is exactly true or false', () => {
  expect(valueOf('Boolean', 'true')).toBe(true);
  expect(valueOf('Boolean', 'false')).toBe(false);
  expect([valueOf('Boolean', 'TRUE'), valueOf('Boolean', 'FALSE')]).toEqual([true, false]);
  for (const text of ['True', 'False', '1', 'yes', ' true']) expect(valueOf('Boolean', text)).toBe('INVALID_VALUE');
});

describe('a Date', () => {
  test('is every day of the calendar from 0001 to 9999', () => {
    fc.assert(
      fc.property(
        fc.date({
          min: new Date('0001-01-01T00:00:00Z'),
          max: new Date('9999-12-31T00:00:00Z'),
          noInvalidDate: true,
        }),
        (day) => {
          const text = day.toISOString().slice(0, 10);
          expect(valueOf('Date', text)).toBe(text);
        },
      ),
      { numRuns: sampledRuns(1000) },
    );
  });

  test('is none that the calendar does not have', () => {
    fc.assert(
      fc.property(fc.nat({ max: 9999 }), fc.nat({ max: 14 }), fc.nat({ max: 33 }), (year, month, day) => {
        const text = [String(year).padStart(4, '0'), ...[month, day].map((n) => String(n).padStart(2, '0'))].join('-');
        const instant = new Date(`${text}T00:00:00Z`);
        const exists = year > 0 && !Number.isNaN(instant.getTime()) && instant.toISOString().startsWith(text);
        expect(valueOf('Date', text)).toBe(exists ? text : 'INVALID_VALUE');
      }),
      { numRuns: sampledRuns(5000) },
    );
  });

  test.each(['2024-02-29', '2000-02-29', '0001-01-01', '9999-12-31'])('%s exists', (text) => {
    expect(valueOf('Date', text)).toBe(text);
  });

  test.each([
    '2023-02-29',
    '1900-02-29',
    '2024-04-31',
    '2024-13-01',
    '2024-00-10',
    '2024-01-00',
    '0000-01-01',
    '10000-01-01',
    '24-01-01',
    '2024-1-1',
    '2024/01/01',
    '01.01.2024',
    '20240101',
    '2024-01-01T00:00:00Z',
    '2024-01-01 ',
    '２024-01-01',
  ])('%s is INVALID_VALUE', (text) => {
    expect(valueOf('Date', text)).toBe('INVALID_VALUE');
  });
});

describe('a Datetime', () => {
  test('comes out in UTC with milliseconds, whatever its zone', () => {
    const instant = fc.date({
      min: new Date('0001-01-03T00:00:00Z'),
      max: new Date('9999-12-29T00:00:00Z'),
      noInvalidDate: true,
    });
    const sign = fc.constantFrom('+', '-');
    const zone = fc.tuple(sign, fc.nat({ max: 23 }), fc.nat({ max: 59 }), fc.constantFrom(':', ''));
    fc.assert(
      fc.property(instant, zone, (time, [east, hours, minutes, colon]) => {
        const offsetMs = (hours * 60 + minutes) * 60_000 * (east === '-' ? -1 : 1);
        const local = new Date(time.getTime() + offsetMs).toISOString().slice(0, -1);
        const [hh, mm] = [hours, minutes].map((n) => String(n).padStart(2, '0'));
        expect(valueOf('Datetime', `${local}${east}${hh}${colon}${mm}`)).toBe(time.toISOString());
        expect(valueOf('Datetime', time.toISOString())).toBe(time.toISOString());
      }),
      { numRuns: sampledRuns(2000) },
    );
  });

  test.each([
    ['2024-02-29T12:30:45Z', '2024-02-29T12:30:45.000Z'],
    ['2024-02-29T12:30:45', '2024-02-29T12:30:45.000Z'],
    ['2024-02-29T12:30', '2024-02-29T12:30:00.000Z'],
    ['2024-02-29 12:30:45.5+00', '2024-02-29T12:30:45.500Z'],
    ['2024-02-29t12:30:45,123456789z', '2024-02-29T12:30:45.123Z'],
    ['2024-03-01T00:30:00+01:00', '2024-02-29T23:30:00.000Z'],
    ['2024-02-29T23:30:00-0100', '2024-03-01T00:30:00.000Z'],
    ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00.000Z'],
    ['0099-12-31T23:59:59+00:00', '0099-12-31T23:59:59.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ])('%s is %s', (text, value) => {
    expect(valueOf('Datetime', text)).toBe(value);
  });

  test.each([
    '2024-02-29',
    '2023-02-29T12:00:00Z',
    '2024-02-30T12:00:00+01:00',
    '2024-01-01T24:00:00Z',
    '2024-01-01T12:60:00Z',
    '2024-01-01T12:00:60Z',
    '2024-01-01T12:00:00+24:00',
    '2024-01-01T12:00:00+01:60',
    '2024-01-01T12:00:00 Z',
    '2024-01-01T12',
    '2024-01-01T1:00:00Z',
    '0001-01-01T00:00:00+00:01',
    '9999-12-31T23:59:59-00:01',
    '1700000000',
    '2024-01-01T12:00:00.Z',
    '2024-01-01T12:00:00.1234567890Z',
    '0000-06-01T00:00:00Z',
    '2024-01-01T12:00:00Z\n',
  ])('%j is INVALID_VALUE', (text) => {
    expect(valueOf('Datetime', text)).toBe('INVALID_VALUE');
  });
});

describe('a Set', () => {
  test('has its distinct elements in the order of their coming', () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '😀'), maxLength: 3 });
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const elements = [...new Set(pieces.filter((text) => text !== ''))];
        expect(parseAttributeValue('Set', pieces.join(';'))).toMatchObject(
          elements.length > 0 ? { ok: true, value: elements } : { ok: false, errorType: 'EMPTY_VALUE' },
        );
      }),
    );
  });

  test('has up to 1,000 of them, counted once each', () => {
    const elements = Array.from({ length: 1000 }, (_, i) => `e${i}`);
    expect(parseAttributeValue('Set', [...elements, ...elements].join(';'))).toEqual({ ok: true, value: elements });
    expect(parseAttributeValue('Set', [...elements, 'more'].join(';'))).toMatchObject({
      ok: false,
      errorType: 'TOO_LONG_SET_SIZE',
      message: expect.stringContaining('1001'),
    });
  });

  test('has elements of up to 256 code points, without NUL', () => {
    const longest = '😀'.repeat(256);
    expect(parseAttributeValue('Set', `a;${longest}`)).toEqual({ ok: true, value: ['a', longest] });
    expect(parseAttributeValue('Set', `a;${longest}b`)).toMatchObject({ errorType: 'TOO_LONG_VALUE' });
    expect(parseAttributeValue('Set', 'a;\0')).toMatchObject({ errorType: 'INVALID_VALUE' });
  });
});

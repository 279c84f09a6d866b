import fc from 'fast-check';
import { DateTime, Settings } from 'luxon';
import { describe, expect, test } from 'vitest';
import { type Conversion, prepareConversion } from '../../../domain/attributes/field-conversion.ts';
import { isDate, readDatetime } from '../../../domain/time/date-value.ts';
import { readNumber } from '../../../domain/text/number-value.ts';
import type { Json } from '../../../domain/json/plain-json.ts';
import { cpuTime } from '../../harness/core/cpu-time.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

function convert(conversion: Conversion, value: Json) {
  const converted = prepareConversion(conversion)(value);
  return converted.ok ? converted.value : converted.errorType;
}

const zone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'UTC');
const time = fc.date({
  min: new Date('1890-01-01T00:00:00Z'),
  max: new Date('2100-01-01T00:00:00Z'),
  noInvalidDate: true,
});
const LOCAL = 'yyyy-MM-dd HH:mm:ss.SSS';
const localTime = (ms: number, inZone: string) => DateTime.fromMillis(ms, { zone: inZone }).toFormat(LOCAL);

describe('any value', () => {
  const conversion = fc.oneof(
    fc.constantFrom<Conversion[]>(
      { as: 'string' },
      { as: 'number' },
      { as: 'number', decimal: ',' },
      { as: 'number', decimal: '.' },
      { as: 'boolean' },
      { as: 'set' },
      { as: 'set', separator: ' ' },
    ),
    fc.record({
      as: fc.constantFrom('date' as const, 'datetime' as const),
      zone,
      format: fc.constantFrom(
        undefined,
        'unix',
        'unix_ms',
        'dd/MM/yyyy',
        'yyyy-MM-dd z',
        'D',
        "kkkk-'W'WW-c ZZ",
        'yyMMdd',
      ),
    }),
  );
  const text = fc.oneof(
    fc.string(),
    fc.stringMatching(/^[ +-]?\d{0,4}[.,/ T:-]\d{0,9}[.,/: -]?\d{0,6}$/),
    fc.constantFrom(
      '31/12/2024',
      '2024-02-29',
      '2024-02-29T10:00',
      '1 234,5',
      'Yes',
      '0',
      '2024-01-01 Europe/Paris',
      '2024-01-01 No/Where',
      '240131',
    ),
  );
  const value = fc.oneof(fc.jsonValue() as fc.Arbitrary<Json>, text, fc.integer());

  test('becomes one of the type, or is refused in words that can be stored', () => {
    fc.assert(
      fc.property(conversion, value, (given, any) => {
        const converted = prepareConversion(given)(any);
        if (!converted.ok) {
          expect(converted.message).not.toBe('');
          expect(converted.message.length).toBeLessThan(200);
          return;
        }
        if (any === null) expect(converted.value).toBeNull();
        else expect(isOfType(given.as, converted.value)).toBe(true);
      }),
      { numRuns: sampledRuns(3_000) },
    );
  });

  test('that was converted stays as it is when it is converted again', () => {
    fc.assert(
      fc.property(conversion, value, (given, any) => {
        const { as } = given;
        const converted = prepareConversion(given)(any);
        fc.pre(converted.ok);
        expect(prepareConversion({ as } as Conversion)(converted.value)).toEqual(converted);
      }),
    );
  });

  function isOfType(as: Conversion['as'], result: Json): boolean {
    switch (as) {
      case 'string':
        return typeof result === 'string';
      case 'number':
        return typeof result === 'number' || readNumber(result as string).ok;
      case 'boolean':
        return typeof result === 'boolean';
      case 'date':
        return isDate(result as string);
      case 'datetime':
        return readDatetime(result as string) === result;
      case 'set':
        return Array.isArray(result);
    }
  }
});

describe('as: string', () => {
  test('writes numbers, booleans and JSON, and keeps texts to the letter', () => {
    const string = { as: 'string' } as const;
    expect([' a ', '', 1.5, true, [1, 'a'], { a: null }, null].map((value) => convert(string, value))).toEqual([
      ' a ',
      '',
      '1.5',
      'true',
      '[1,"a"]',
      '{"a":null}',
      null,
    ]);
  });

  test('refuses what is nested too deeply to be written', () => {
    expect(convert({ as: 'string' }, JSON.parse(`${'['.repeat(1e5)}${']'.repeat(1e5)}`) as Json)).toBe('INVALID_VALUE');
  });
});

describe('as: number', () => {
  test('keeps every digit, as a text where a number would not', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(2n ** 63n) + 1n, max: 2n ** 63n - 1n }),
        fc.nat({ max: 9999 }),
        (whole, decimals) => {
          const text = `${whole}.${decimals}1`;
          fc.pre(readNumber(text).ok);
          expect(String(convert({ as: 'number' }, text) as number | string)).toBe(text);
          expect(String(convert({ as: 'number' }, ` ${whole} `) as number | string)).toBe(String(whole));
        },
      ),
    );
    expect(convert({ as: 'number' }, '9007199254740993')).toBe('9007199254740993');
  });

  test('reads numbers as each country groups them', () => {
    const whole12 = fc.integer({ min: -1e12, max: 1e12 });
    fc.assert(
      fc.property(whole12, fc.nat({ max: 99 }), fc.constantFrom(',', '.'), (whole, cents, decimal) => {
        const number = Number(`${whole}.${String(cents).padStart(2, '0')}`);
        const formatted = number.toLocaleString(decimal === ',' ? 'de-DE' : 'en-IN', { minimumFractionDigits: 2 });
        expect(convert({ as: 'number', decimal: decimal as ',' }, formatted)).toBe(number);
      }),
    );
  });

  test.each<[decimal: ',' | '.' | undefined, text: string, value: Json]>([
    [undefined, ' 12.50 ', 12.5],
    [undefined, '+7', 7],
    [undefined, '007', 7],
    [undefined, '.5', 0.5],
    [undefined, '5.', 5],
    [undefined, '-0.10', -0.1],
    [undefined, '1e3', 1000],
    [undefined, '1E-2', 0.01],
    [undefined, '00', 0],
    [undefined, '  ', 'EMPTY_VALUE'],
    [',', '1.234.567,89', 1234567.89],
    [',', '1 234,5', 1234.5],
    [',', '1\u00a0234', 1234],
    [',', '1\u202f234\u202f567', 1234567],
    [',', '0,5', 0.5],
    [',', '1,5e3', 1500],
    [',', '12', 12],
    ['.', '1,234.5', 1234.5],
    ['.', '12,34,567', 1234567],
    ['.', '1.5', 1.5],
  ])('decimal %s: %j is %j', (decimal, text, value) => {
    expect(convert({ as: 'number', ...(decimal && { decimal }) }, text)).toBe(value);
  });

  test.each<[decimal: ',' | '.' | undefined, value: Json]>([
    [undefined, '1,5'],
    [undefined, '1 000'],
    [undefined, '.'],
    [undefined, '+'],
    [undefined, 'e3'],
    [undefined, '1e'],
    [undefined, '0x10'],
    [undefined, '12 €'],
    [undefined, 'NaN'],
    [undefined, true],
    [undefined, [1]],
    [undefined, { a: 1 }],
    [undefined, '1e400'],
    [',', '1.5'],
    [',', '1.234.56'],
    [',', '1.234 567'],
    [',', '1,2,3'],
    [',', '1234.567'],
    [',', '.5'],
    ['.', '1,5'],
    ['.', '1,2345'],
  ])('decimal %s: %j is none', (decimal, value) => {
    expect(convert({ as: 'number', ...(decimal && { decimal }) }, value)).toBe('INVALID_VALUE');
  });

  test('takes linear time on endless digits', () => {
    expect(
      cpuTime(() => {
        for (const text of ['1'.repeat(1e6), `1${'.234'.repeat(3e5)}x`, '0'.repeat(1e6), ' '.repeat(1e6)]) {
          for (const decimal of [undefined, ',', '.'] as const)
            convert({ as: 'number', ...(decimal && { decimal }) }, text);
        }
      }),
    ).toBeLessThan(2_000);
  });
});

describe('as: boolean', () => {
  test('knows the usual words, case and spaces aside', () => {
    for (const word of ['true', 'YES', '1', 't', 'Y', ' on ', 1, true])
      expect(convert({ as: 'boolean' }, word)).toBe(true);
    for (const word of ['false', 'No', '0', 'F', 'n', 'off', 0, false])
      expect(convert({ as: 'boolean' }, word)).toBe(false);
    for (const word of ['oui', '2', 2, 'constructor', [], {}])
      expect(convert({ as: 'boolean' }, word)).toBe('INVALID_VALUE');
  });

  test('knows the words that it is given instead', () => {
    const french: Conversion = { as: 'boolean', true: ['Oui', 'vrai'], false: ['non'] };
    expect(['OUI', 'Vrai', 'NON', 'yes', ''].map((word) => convert(french, word))).toEqual([
      true,
      true,
      false,
      'INVALID_VALUE',
      'EMPTY_VALUE',
    ]);
  });
});

describe('as: set', () => {
  test('splits a text into its elements', () => {
    const letter = fc.stringMatching(/^[a-z]{0,3}$/);
    fc.assert(
      fc.property(fc.array(letter), fc.constantFrom(';', ',', ' | '), (elements, separator) => {
        const left = elements.filter((element) => element !== '');
        expect(convert({ as: 'set', separator }, elements.map((element) => ` ${element}\t`).join(separator))).toEqual(
          left.length === 0 ? 'EMPTY_VALUE' : left,
        );
      }),
    );
  });

  test('leaves an array alone, makes one of what stands alone, and refuses an object', () => {
    expect(convert({ as: 'set' }, ['a;b', ' '])).toEqual(['a;b', ' ']);
    expect([1.5, true, 'a;b', { a: 1 }].map((value) => convert({ as: 'set' }, value))).toEqual([
      ['1.5'],
      ['true'],
      ['a', 'b'],
      'INVALID_VALUE',
    ]);
  });
});

describe('as: datetime', () => {
  test('is the first instant at which the clocks of its zone show the local time, with a format or without', () => {
    fc.assert(
      fc.property(time, zone, fc.boolean(), (instant, inZone, isFormatted) => {
        const local = localTime(instant.getTime(), inZone);
        const read = Date.parse(
          convert({ as: 'datetime', zone: inZone, ...(isFormatted && { format: LOCAL }) }, local) as string,
        );
        expect(localTime(read, inZone)).toBe(local);
        expect(read).toBeLessThanOrEqual(instant.getTime());
        for (let minutes = 30; minutes <= 180; minutes += 30)
          expect(localTime(read - minutes * 60_000, inZone)).not.toBe(local);
      }),
      { numRuns: sampledRuns(1_000) },
    );
  });

  test('is the same whatever the time of the year is', () => {
    const now = Settings.now;
    try {
      for (const today of ['2024-01-01T00:00:00Z', '2024-07-01T00:00:00Z']) {
        Settings.now = () => Date.parse(today);
        expect(convert({ as: 'datetime', zone: 'Europe/Paris' }, '2024-10-27T02:30')).toBe('2024-10-27T00:30:00.000Z');
        expect(convert({ as: 'datetime', format: 'yyyy-MM-dd HH:mm z' }, '2024-10-27 02:30 Europe/Paris')).toBe(
          '2024-10-27T00:30:00.000Z',
        );
      }
    } finally {
      Settings.now = now;
    }
  });

  test.each<[conversion: Omit<Conversion & { as: 'datetime' }, 'as'>, value: Json, datetime: string]>([
    [{}, '2024-02-29', '2024-02-29T00:00:00.000Z'],
    [{}, '2024-02-29 10:00', '2024-02-29T10:00:00.000Z'],
    [{ zone: 'Europe/Paris' }, '2024-02-29', '2024-02-28T23:00:00.000Z'],
    [{ zone: 'Europe/Paris' }, '2024-02-29T10:00:00-05:00', '2024-02-29T15:00:00.000Z'],
    [{ zone: 'Europe/Paris' }, '2024-02-29T10:00:00Z', '2024-02-29T10:00:00.000Z'],
    [{ zone: 'Europe/Paris' }, '2024-03-31T02:30', '2024-03-31T01:30:00.000Z'],
    [{ zone: 'Europe/Paris' }, '2024-10-27T02:30', '2024-10-27T00:30:00.000Z'],
    [{ zone: 'America/New_York' }, '2024-03-10T02:30', '2024-03-10T07:30:00.000Z'],
    [{ zone: 'America/New_York' }, '2024-11-03T01:30', '2024-11-03T05:30:00.000Z'],
    [{ zone: 'America/Sao_Paulo' }, '2018-11-04', '2018-11-04T03:00:00.000Z'],
    [{ zone: 'Pacific/Apia' }, '2011-12-30T12:00', '2011-12-30T22:00:00.000Z'],
    [{ zone: 'Australia/Lord_Howe' }, '2024-04-07T01:45', '2024-04-06T14:45:00.000Z'],
    [{ zone: 'Europe/Paris' }, '1900-01-01', '1899-12-31T23:50:39.000Z'],
    [{ format: 'dd/MM/yyyy HH:mm', zone: 'Europe/Paris' }, '29/02/2024 10:00', '2024-02-29T09:00:00.000Z'],
    [{ format: 'd MMM yyyy h:mm a' }, '5 Feb 2024 4:05 PM', '2024-02-05T16:05:00.000Z'],
    [
      { format: 'EEE, d LLL yyyy HH:mm:ss ZZZ', zone: 'Europe/Paris' },
      'Thu, 29 Feb 2024 10:00:00 +0530',
      '2024-02-29T04:30:00.000Z',
    ],
    [{ format: 'yyyy-MM-dd HH:mm z' }, '2024-10-27 02:30 Europe/Paris', '2024-10-27T00:30:00.000Z'],
    [{ format: 'yyyyMMddHHmmss' }, 20240229100000, '2024-02-29T10:00:00.000Z'],
    [{ format: 'yyyy-MM-dd' }, '2024-02-29', '2024-02-29T00:00:00.000Z'],
    [{ format: 'unix' }, 1700000000, '2023-11-14T22:13:20.000Z'],
    [{ format: 'unix', zone: 'Asia/Tokyo' }, '1700000000.001', '2023-11-14T22:13:20.001Z'],
    [{ format: 'unix' }, '-1.9999', '1969-12-31T23:59:58.001Z'],
    [{ format: 'unix' }, ' 1.7e9 ', '2023-11-14T22:13:20.000Z'],
    [{ format: 'unix_ms' }, '1700000000001.9', '2023-11-14T22:13:20.001Z'],
    [{ format: 'unix_ms' }, 0, '1970-01-01T00:00:00.000Z'],
  ])('%j: %j is %s', (conversion, value, datetime) => {
    expect(convert({ as: 'datetime', ...conversion }, value)).toBe(datetime);
  });

  test.each<[format: string | undefined, value: Json]>([
    [undefined, '2023-02-29'],
    [undefined, '29/02/2024'],
    [undefined, 1700000000],
    [undefined, true],
    [undefined, ['2024-02-29']],
    [undefined, '10:00'],
    ['unix', 'soon'],
    ['unix', '99999999999999'],
    ['unix_ms', -1e15],
    ['unix', '2024-02-29'],
    ['dd/MM/yyyy', '30/02/2024'],
    ['dd/MM/yyyy', '2024-02-29'],
    ['dd/MM/yyyy', '01/01/0000'],
    ['y', '123456'],
    ['y-MM-dd', '0-01-01'],
    ['EEEE d MMM yyyy', 'Monday 29 Feb 2024'],
    ['yyyy-MM-dd z', '2024-02-29 Not/AZone'],
    ['y G', '44 BC'],
  ])('format %s: %j is none', (format, value) => {
    expect(convert({ as: 'datetime', ...(format !== undefined && { format }) }, value)).toBe('INVALID_VALUE');
  });
});

describe('as: date', () => {
  test('is the day that calendars of its zone show at that instant', () => {
    fc.assert(
      fc.property(time, zone, (instant, inZone) => {
        const day = localTime(instant.getTime(), inZone).slice(0, 10);
        expect(convert({ as: 'date', zone: inZone }, instant.toISOString())).toBe(day);
        expect(convert({ as: 'date', zone: inZone, format: 'unix_ms' }, instant.getTime())).toBe(day);
        const utc = `${instant.toISOString().slice(0, -1).replace('T', ' ')} +00:00`;
        expect(convert({ as: 'date', zone: inZone, format: `${LOCAL} ZZ` }, utc)).toBe(day);
      }),
      { numRuns: sampledRuns(500) },
    );
  });

  test('without a zone in the text is the day that stands there, in every zone', () => {
    const formats = fc.constantFrom('dd/MM/yyyy', 'D', 'DDD', 'yyyy-ooo', "kkkk-'W'WW-c", 'yyyyMMdd');
    fc.assert(
      fc.property(time, zone, formats, (instant, inZone, format) => {
        const day = instant.toISOString().slice(0, 10);
        expect(convert({ as: 'date', zone: inZone }, day)).toBe(day);
        expect(convert({ as: 'date', zone: inZone }, `${day}T23:30`)).toBe(day);
        expect(
          convert({ as: 'date', zone: inZone, format }, DateTime.fromJSDate(instant, { zone: 'utc' }).toFormat(format)),
        ).toBe(day);
      }),
    );
  });

  test('begins where its format ends', () => {
    expect(convert({ as: 'date', format: 'MM/yyyy' }, '02/2024')).toBe('2024-02-01');
    expect(convert({ as: 'date', format: "kkkk-'W'WW" }, '2024-W01')).toBe('2024-01-01');
  });
});

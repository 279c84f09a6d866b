import { describe, expect, it } from 'vitest';
import { isTimeZone } from '../../../domain/time/time-zone.ts';

describe('a time zone', () => {
  const others = ['UTC', 'Etc/GMT+5', 'Asia/Kolkata', 'America/Argentina/Buenos_Aires'];

  it.each([...Intl.supportedValuesOf('timeZone'), ...others])('is %s', (name) => {
    expect(isTimeZone(name)).toBe(true);
  });

  it.each([
    '',
    'Europe',
    'Europe/Atlantis',
    '+01:00',
    'CET',
    'europe/paris',
    ' Europe/Paris',
    'Europe/Paris\n',
    'Europe/Paris; x',
  ])('is not %j', (name) => {
    expect(isTimeZone(name)).toBe(false);
  });
});

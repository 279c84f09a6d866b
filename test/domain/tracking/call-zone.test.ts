import { expect, test } from 'vitest';
import { utcOffsetOf, zoneNameOf } from '../../../domain/tracking/call-context.ts';

const WINTER = Date.UTC(2026, 0, 15, 12);

/** The name with those letters in upper case whose bit is set. */
function spelling(name: string, bits: number): string {
  let left = bits;
  return (
    name[0]! +
    name.slice(1).replaceAll(/[a-z]/gi, (letter) => {
      const isUpper = left % 2 === 1;
      left = Math.floor(left / 2);
      return isUpper ? letter.toUpperCase() : letter.toLowerCase();
    })
  );
}

test('a zone is the same in whatever case it is written, and takes memory once', () => {
  const zone = 'America/Argentina/Buenos_Aires';
  expect(utcOffsetOf(zone, WINTER)).toBe(-180);
  const before = process.memoryUsage().rss;
  for (let bits = 0; bits < 5_000; bits += 1) expect(utcOffsetOf(spelling(zone, bits), WINTER)).toBe(-180);
  expect(process.memoryUsage().rss - before).toBeLessThan(120_000_000);
});

test.each([
  ['UTC', 0],
  ['GMT', 0],
  ['Etc/UTC', 0],
  ['Europe/Paris', 60],
  ['Asia/Calcutta', 330],
  ['GMT+02:00', 120],
  ['GMT-3', -180],
  ['utc', null],
  ['europe/paris', null],
  ['Europe/Atlantis', null],
  ['CET', null],
  [5, null],
])('%j is %j minutes east of UTC in winter', (timezone, minutes) => {
  expect(utcOffsetOf(timezone, WINTER)).toBe(minutes);
});

test.each([
  ['Europe/Paris', 'Europe/Paris'],
  ['Asia/KOLKATA', 'Asia/Kolkata'],
  ['Asia/Calcutta', 'Asia/Calcutta'],
  ['Europe/Kyiv', 'Europe/Kyiv'],
  ['US/EASTERN', 'US/Eastern'],
  ['America/Port-Of-Spain', null],
  ['America/Port_Of_Spain', 'America/Port_of_Spain'],
  ['Brazil/denoronha', 'Brazil/DeNoronha'],
  ['America/Argentina/comodRivadavia', 'America/Argentina/ComodRivadavia'],
  ['UTC', 'UTC'],
  ['GMT+02:00', null],
  ['+01:00', null],
  ['Europe/Atlantis', null],
  [null, null],
])('%j is the zone %j of the IANA database, in one spelling', (timezone, name) => {
  expect(zoneNameOf(timezone)).toBe(name);
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AudienceTally } from '../../../domain/campaigns/audience-tally.ts';
import { codesByGroup, RESULT_GROUPS, resultsOf } from '../../../domain/campaigns/campaign-results.ts';
import { pushTimes } from '../../../domain/campaigns/push-times.ts';
import { ATTEMPT_CODES, type AttemptCode } from '../../../domain/sends/attempt.ts';
import { endOfQuiet, isQuietIn } from '../../../domain/sends/quiet-hours.ts';

const CODES = Object.keys(ATTEMPT_CODES) as AttemptCode[];
const at = (iso: string) => new Date(iso);

const counted = fc.record({ code: fc.constantFrom(...CODES), messages: fc.nat(1_000) }).chain(({ code, messages }) =>
  fc.record({
    code: fc.constant(code),
    messages: fc.constant(messages),
    delivered: fc.nat(messages),
    inapp: fc.nat(messages),
    details: fc.constantFrom(null, 'no push token'),
    opened: fc.constant(0),
    shown: fc.constant(0),
    clicked: fc.constant(0),
  }),
);

describe('results', () => {
  it('add up whatever the codes are, and so do the codes of each group', () => {
    fc.assert(
      fc.property(fc.array(counted), (codes) => {
        const total = resultsOf(codes);
        expect(total.messages).toBe(codes.reduce((sum, { messages }) => sum + messages, 0));
        expect(total.messages).toBe(total.sent + total.waiting + total.in_app_only + total.not_sent);
        expect(total.sent).toBe(total.confirmed + total.taken + total.unknown + total.refused);
        const listed = codesByGroup(codes);
        for (const group of RESULT_GROUPS) {
          const own = listed.filter((code) => code.group === group);
          expect([group, own.reduce((sum, { messages }) => sum + messages, 0)]).toEqual([group, total[group]]);
        }
      }),
    );
  });

  it('count a push whose outcome is unknown as neither success nor failure, unless its device confirmed it', () => {
    const none = { opened: 0, inapp: 0, shown: 0, clicked: 0 };
    expect(
      resultsOf([
        { ...none, code: 'PUSH_SENT', messages: 10, delivered: 6 },
        { ...none, code: 'UNKNOWN', messages: 5, delivered: 1 },
        { ...none, code: 'REFUSED', messages: 2, delivered: 0 },
        { ...none, code: 'OPT_OUT', messages: 7, delivered: 0, inapp: 3 },
        { ...none, code: 'INAPP_AVAILABLE', messages: 2, delivered: 0, inapp: 2 },
      ]),
    ).toMatchObject({ sent: 17, confirmed: 7, taken: 4, unknown: 4, refused: 2, in_app_only: 5, not_sent: 4 });
  });
});

describe('an audience', () => {
  const device = {
    deviceId: 'a',
    currentUserId: null,
    isLoggedOut: null,
    verifiedUserId: null,
    pushToken: 'token',
    optIn: true,
    optOut: null,
    uninstalled: false,
    timezone: null as string | null,
    utcOffsetMinutes: null,
  };
  const tallyOf = (includesInapp: boolean) =>
    new AudienceTally({
      type: 'classic',
      includesPush: true,
      includesInapp,
      verifiedUsers: false,
      hasProfileValues: false,
      appTimezone: 'Europe/Paris',
      isHeldBack: (person) => person === 'uheld',
    });

  it('has each person once, by the best that one of their devices gets, and by zone each device', () => {
    for (const [includesInapp, expected] of [
      [true, { people: 5, push: 1, inAppOnly: 2, devices: 6 }],
      [false, { people: 5, push: 1, inAppOnly: 0, devices: 6 }],
    ] as const) {
      const tally = tallyOf(includesInapp);
      tally.add('uada', { ...device, pushToken: null, timezone: 'Asia/Tokyo' });
      tally.add('uada', { ...device, deviceId: 'b' });
      tally.add('ubob', { ...device, optIn: false });
      tally.add('ubob', { ...device, pushToken: null });
      tally.add('dc', { ...device, pushToken: null });
      tally.add('uheld', device);
      tally.add('unone', null);
      const reasons = tally.end();
      expect(tally).toMatchObject(expected);
      expect(reasons.map(({ code, details, people }) => [code, details, people])).toEqual([
        ...(includesInapp
          ? []
          : [
              ['OPT_OUT', 'pushes are turned off', 1],
              ['OPT_OUT', 'no push token', 1],
            ]),
        ['CONTROL_GROUP', null, 1],
        ['NO_DEVICE_FOR_USER', null, 1],
      ]);
      expect([...tally.zones]).toEqual([
        ['Asia/Tokyo', { devices: 1, pushes: 0 }],
        ['Europe/Paris', { devices: 5, pushes: 1 }],
      ]);
    }
  });
});

describe('pushes', () => {
  const NIGHT = { start: 22 * 60, end: 7 * 60, timezone: 'Europe/Paris' };
  const LIMITS = { quiet: NIGHT, sendRate: null, expireAfterSeconds: 604_800 };
  const WAVES = [
    { at: at('2026-11-26T17:00:00Z'), pushes: 10 },
    { at: at('2026-11-26T22:00:00Z'), pushes: 5 },
  ];

  it('wait for the end of quiet hours in the zone of the app, also into the night of another zone', () => {
    const [first, second] = pushTimes(WAVES, LIMITS);
    expect(first).toEqual({ from: WAVES[0]!.at, until: WAVES[0]!.at, expired: 0, waitsFor: [] });
    const morning = at('2026-11-27T06:00:00Z');
    expect(second).toEqual({ from: morning, until: morning, expired: 0, waitsFor: ['quiet_hours'] });
    const isQuiet = (zone: string, moment: Date) => isQuietIn(zone, NIGHT, moment);
    expect([isQuiet('America/Martinique', morning), isQuiet('Europe/Paris', morning)]).toEqual([true, false]);
    expect(pushTimes(WAVES, { ...LIMITS, expireAfterSeconds: 3_600 })[1]).toMatchObject({ from: null, expired: 5 });
    expect(pushTimes([{ at: morning, pushes: 0 }], LIMITS)[0]).toMatchObject({ from: null, expired: 0, waitsFor: [] });
  });

  it('leave one after another at the send rate, and go on in the morning', () => {
    const evening = at('2026-11-26T20:59:58Z');
    const waves = [
      { at: evening, pushes: 5 },
      { at: at('2026-11-27T06:00:00Z'), pushes: 2 },
    ];
    expect(pushTimes(waves, { ...LIMITS, sendRate: 1 })).toEqual([
      { from: evening, until: at('2026-11-27T06:00:02Z'), expired: 0, waitsFor: ['quiet_hours', 'send_rate'] },
      {
        from: at('2026-11-27T06:00:03Z'),
        until: at('2026-11-27T06:00:04Z'),
        expired: 0,
        waitsFor: ['send_rate'],
      },
    ]);
  });

  it('have the times that counting them one by one gives', () => {
    const wave = fc.record({ minute: fc.nat(2_000), pushes: fc.nat(150) });
    const rules = fc.record({
      start: fc.nat(1_439),
      end: fc.nat(1_439),
      timezone: fc.constantFrom('Europe/Paris', 'Asia/Kolkata', 'UTC'),
    });
    const limits = fc.record({
      quiet: fc.option(rules),
      sendRate: fc.constantFrom(1, 2, 4, 8),
      expireAfterSeconds: fc.integer({ min: 1, max: 100_000 }),
    });
    fc.assert(
      fc.property(fc.array(wave, { maxLength: 4 }), limits, (waves, given) => {
        const sends = waves
          .toSorted((one, other) => one.minute - other.minute)
          .map(({ minute, pushes }) => ({ at: new Date(Date.UTC(2026, 10, 26) + minute * 60_000), pushes }));
        let freeAt = 0;
        const expected = sends.map((send) => {
          const moments: number[] = [];
          for (let nth = 0; nth < send.pushes; nth += 1) {
            const moment = endOfQuiet(given.quiet, new Date(Math.max(send.at.getTime(), freeAt))).getTime();
            if (moment >= send.at.getTime() + given.expireAfterSeconds * 1_000) break;
            moments.push(moment);
            freeAt = moment + 1_000 / given.sendRate;
          }
          return [moments[0] ?? null, moments.at(-1) ?? null, send.pushes - moments.length];
        });
        expect(
          pushTimes(sends, given).map(({ from, until, expired }) => [
            from?.getTime() ?? null,
            until?.getTime() ?? null,
            expired,
          ]),
        ).toEqual(expected);
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { localMoment, zoneOf } from '../../../domain/campaigns/local-time.ts';
import {
  currentSend,
  sendPlan,
  type SendSchedule,
  windowsBetween,
  windowsOf,
  type ZoneDevices,
} from '../../../domain/campaigns/send-plan.ts';
import { zoneNameOf } from '../../../domain/tracking/call-context.ts';
import { cpuTime } from '../../harness/core/cpu-time.ts';
import { sampledRuns } from '../../harness/run/seed.ts';
import { ZONES } from './walked-clock.ts';

const DAY = 86_400_000;
const LAUNCH = new Date('2026-06-01T07:00:00Z');
const START = { launchedAt: LAUNCH, from: LAUNCH };
const PARIS = { zone: 'Europe/Paris', devices: 10 };
const BERLIN = { zone: 'Europe/Berlin', devices: 5 };
const NEW_YORK = { zone: 'America/New_York', devices: 7 };
const KOLKATA = { zone: 'Asia/Kolkata', devices: 3 };
const AUDIENCE = [NEW_YORK, PARIS, KOLKATA, BERLIN];
const CLASSIC = { type: 'classic', startDate: null, endDate: null, adaptTz: false, appZone: 'Europe/Paris' } as const;
const NINE = { hour: 9, min: 0 };
const at = (iso: string) => new Date(iso);

function asDynamic(change: Partial<Extract<SendSchedule, { type: 'dynamic' }>>): SendSchedule {
  const recurrence = { day_of_week: [1, 3], start_time: NINE };
  return { ...CLASSIC, type: 'dynamic', endDate: at('2026-07-01T00:00:00Z'), recurrence, ...change };
}

describe('a classic campaign', () => {
  it('goes to everybody at once, at its start or at the launch if that is later', () => {
    const plan = (change: { startDate?: Date; endDate?: Date }) =>
      sendPlan({ ...CLASSIC, ...change }, AUDIENCE, START, 10);
    const once = (moment: Date) => ({ sends: [{ at: moment, until: null, zones: null, devices: 25 }], hasMore: false });
    expect(plan({})).toEqual(once(LAUNCH));
    expect(plan({ startDate: at('2026-06-05T07:00:00Z') })).toEqual(once(at('2026-06-05T07:00:00Z')));
    expect(plan({ startDate: at('2026-05-05T07:00:00Z') })).toEqual(once(LAUNCH));
    expect(plan({ endDate: LAUNCH })).toEqual({ sends: [], hasMore: false });
  });

  it('with adapt_tz goes to each zone at its own time, the day after where that has passed', () => {
    const startDate = at('2026-06-01T08:00:00Z');
    const sends = [
      { at: startDate, until: null, zones: ['Europe/Berlin', 'Europe/Paris'], devices: 15 },
      { at: at('2026-06-01T14:00:00Z'), until: null, zones: ['America/New_York'], devices: 7 },
      { at: at('2026-06-02T04:30:00Z'), until: null, zones: ['Asia/Kolkata'], devices: 3 },
    ];
    expect(sendPlan({ ...CLASSIC, adaptTz: true, startDate }, AUDIENCE, START, 3)).toEqual({ sends, hasMore: false });
    expect(sendPlan({ ...CLASSIC, adaptTz: true, startDate }, AUDIENCE, START, 2)).toEqual({
      sends: sends.slice(0, 2),
      hasMore: true,
    });
    expect(
      sendPlan(
        { ...CLASSIC, adaptTz: true, startDate },
        AUDIENCE,
        { ...START, from: at('2026-06-01T14:00:00.001Z') },
        3,
      ),
    ).toEqual({ sends: sends.slice(2), hasMore: false });
  });

  it('names zones as the devices do, also two names of one zone', () => {
    const said = ['Asia/Kolkata', 'Asia/Calcutta', 'Europe/Kyiv'].map((name) => zoneNameOf(name));
    const audience = said.map((timezone) => ({
      zone: zoneOf({ timezone, utcOffsetMinutes: null }, 'UTC'),
      devices: 1,
    }));
    const { sends } = sendPlan(
      { ...CLASSIC, adaptTz: true, startDate: at('2026-06-01T08:00:00Z') },
      audience,
      START,
      3,
    );
    expect(sends.map(({ zones, devices }) => [zones, devices])).toEqual([
      [['Europe/Kyiv'], 1],
      [['Asia/Calcutta', 'Asia/Kolkata'], 2],
    ]);
  });

  it('whose start has passed keeps its hour with adapt_tz', () => {
    const { sends } = sendPlan(
      { ...CLASSIC, adaptTz: true, startDate: at('2026-05-01T06:00:00Z') },
      [PARIS, NEW_YORK],
      START,
      3,
    );
    expect(sends.map((send) => send.at)).toEqual([at('2026-06-01T12:00:00Z'), at('2026-06-02T06:00:00Z')]);
  });

  it('does not know its devices where nobody has counted them', () => {
    const audience = [PARIS, { zone: 'Europe/Berlin', devices: null }, NEW_YORK];
    expect(sendPlan(CLASSIC, audience, START, 1).sends[0]?.devices).toBeNull();
    expect(sendPlan({ ...CLASSIC, adaptTz: true }, audience, START, 2).sends.map(({ devices }) => devices)).toEqual([
      null,
      7,
    ]);
    expect(sendPlan(CLASSIC, [], START, 1).sends[0]?.devices).toBe(0);
  });
});

describe('a dynamic campaign', () => {
  it('sends in the zone of its recurrence, or of the app, from its start until its end', () => {
    const moments = (schedule: SendSchedule) => sendPlan(schedule, AUDIENCE, START, 3).sends;
    const everybody = { until: null, zones: null, devices: null };
    expect(moments(asDynamic({}))).toEqual([
      { at: LAUNCH, ...everybody },
      { at: at('2026-06-03T07:00:00Z'), ...everybody },
      { at: at('2026-06-08T07:00:00Z'), ...everybody },
    ]);
    expect(moments(asDynamic({ startDate: at('2026-06-09T00:00:00Z'), endDate: at('2026-06-15T07:00:00Z') }))).toEqual([
      { at: at('2026-06-10T07:00:00Z'), ...everybody },
    ]);
    expect(
      moments(asDynamic({ recurrence: { day_of_week: [1], start_time: NINE, timezone: 'Asia/Kolkata' } }))[0],
    ).toEqual({ at: at('2026-06-08T03:30:00Z'), ...everybody });
  });

  it('says which send is under way, or comes next', () => {
    const now = (iso: string) => ({ launchedAt: LAUNCH, now: at(iso) });
    const exact = asDynamic({ endDate: at('2026-06-04T00:00:00Z') });
    const wednesday = { from: at('2026-06-03T07:00:00Z'), until: null };
    expect(currentSend(exact, now('2026-06-02T00:00:00Z'))).toEqual(wednesday);
    expect(currentSend(exact, now('2026-06-03T07:00:00Z'))).toBeNull();
    const allDay = asDynamic({ recurrence: { day_of_week: [2] }, startDate: at('2026-06-02T10:00:00Z') });
    expect(currentSend(allDay, now('2026-06-01T12:00:00Z'))?.from).toEqual(at('2026-06-02T10:00:00Z'));
    expect(currentSend(allDay, now('2026-06-09T21:59:00Z'))).toEqual({
      from: at('2026-06-08T22:00:00Z'),
      until: at('2026-06-09T22:00:00Z'),
    });
    expect(currentSend(allDay, now('2026-06-09T22:00:00Z'))?.from).toEqual(at('2026-06-15T22:00:00Z'));
  });

  it('with adapt_tz sends in the zones of its devices, whatever zone its recurrence says', () => {
    const recurrence = { day_of_week: [3], start_time: NINE, end_time: { hour: 10, min: 30 }, timezone: 'Asia/Tokyo' };
    expect(sendPlan(asDynamic({ adaptTz: true, recurrence }), AUDIENCE, START, 3)).toEqual({
      hasMore: true,
      sends: [
        { at: at('2026-06-03T03:30:00Z'), until: at('2026-06-03T05:00:00Z'), zones: ['Asia/Kolkata'], devices: null },
        {
          at: at('2026-06-03T07:00:00Z'),
          until: at('2026-06-03T08:30:00Z'),
          zones: ['Europe/Berlin', 'Europe/Paris'],
          devices: null,
        },
        {
          at: at('2026-06-03T13:00:00Z'),
          until: at('2026-06-03T14:30:00Z'),
          zones: ['America/New_York'],
          devices: null,
        },
      ],
    });
  });
});

const audiences = fc.uniqueArray(
  fc.record({
    zone: fc.constantFrom(...ZONES, 'Europe/Berlin', 'Asia/Calcutta'),
    devices: fc.integer({ min: 1, max: 1_000 }),
  }),
  { selector: ({ zone }) => zone },
);
const moment = (from: number, until: number) =>
  fc.integer({ min: from, max: until }).map((ms) => new Date(LAUNCH.getTime() + ms));
const schedules: fc.Arbitrary<SendSchedule> = fc
  .record({
    startDate: fc.option(moment(-3 * DAY, 3 * DAY)),
    appZone: fc.constantFrom(...ZONES),
    end: moment(0, 12 * DAY),
    hasEnd: fc.boolean(),
    hour: fc.integer({ min: 0, max: 22 }),
    shape: fc.constantFrom('classic', 'exact', 'period', 'day'),
    day_of_week: fc.uniqueArray(fc.integer({ min: 0, max: 6 }), { minLength: 1 }),
  })
  .map(({ startDate, appZone, end, hasEnd, hour, shape, day_of_week }) => {
    const common = { startDate, appZone, adaptTz: true };
    if (shape === 'classic') return { ...common, type: 'classic', endDate: hasEnd ? end : null };
    const start = shape === 'day' ? {} : { start_time: { hour, min: 0 } };
    const times = { ...start, ...(shape === 'period' ? { end_time: { hour: hour + 1, min: 0 } } : {}) };
    return { ...common, type: 'dynamic', endDate: end, recurrence: { day_of_week, ...times } };
  });

/** All sends of all zones, one by one, as text: zone, from, until. */
function sendsOneByOne(schedule: SendSchedule, audience: ZoneDevices[], from: Date): string[] {
  const { startDate, appZone, endDate } = schedule;
  return audience.flatMap(({ zone }) => {
    if (schedule.type === 'classic') {
      const moment = localMoment(startDate ?? LAUNCH, appZone, zone, LAUNCH);
      return moment >= from && (endDate === null || moment < endDate) ? [line(zone, moment, null)] : [];
    }
    const after = new Date(Math.max(LAUNCH.getTime(), from.getTime(), startDate?.getTime() ?? 0));
    return Array.from(windowsBetween(schedule.recurrence, zone, after, schedule.endDate), (one) =>
      line(zone, one.from, one.until),
    );
  });
}

const line = (zone: string, from: Date, until: Date | null) =>
  `${zone} ${from.toISOString()} ${until?.toISOString() ?? 'exactly'}`;

describe('a plan by zones', () => {
  it('has each send of each zone once, in order, and zones with the same one together', () => {
    fc.assert(
      fc.property(schedules, audiences, moment(-DAY, 5 * DAY), (schedule, audience, from) => {
        const { sends, hasMore } = sendPlan(schedule, audience, { launchedAt: LAUNCH, from }, 10_000);
        const found = sends.flatMap((send) => send.zones!.map((zone) => line(zone, send.at, send.until)));
        expect(found.sort()).toEqual(sendsOneByOne(schedule, audience, from).sort());
        const keys = sends.map((send) => line('', send.at, send.until));
        expect(new Set(keys).size).toBe(keys.length);
        expect(sends.map((send) => send.at.getTime())).toEqual(
          sends.map((send) => send.at.getTime()).toSorted((one, other) => one - other),
        );
        expect(hasMore).toBe(false);
        for (const { zones, devices } of sends) {
          const counted = audience
            .filter(({ zone }) => zones!.includes(zone))
            .reduce((sum, group) => sum + group.devices, 0);
          expect(devices).toBe(schedule.type === 'classic' ? counted : null);
        }
      }),
      { numRuns: sampledRuns(60) },
    );
  });

  it('is the same in whatever order the zones come, and a short one is the beginning of a long one', () => {
    fc.assert(
      fc.property(schedules, audiences, fc.nat({ max: 20 }), (schedule, audience, limit) => {
        const whole = sendPlan(schedule, audience, START, 10_000).sends;
        const short = sendPlan(schedule, audience.toReversed(), START, limit);
        expect(short).toEqual({ sends: whole.slice(0, limit), hasMore: whole.length > limit });
      }),
      { numRuns: sampledRuns(60) },
    );
  });

  it('of one zone is when the campaign sends there', () => {
    fc.assert(
      fc.property(schedules, fc.constantFrom(...ZONES), (schedule, zone) => {
        const windows = Array.from(windowsOf(schedule, zone, START), ({ from, until }) => line(zone, from, until));
        const audience = [{ zone, devices: 1 }];
        const { sends } = sendPlan(schedule, audience, START, 10_000);
        expect(sends.map((send) => line(zone, send.at, send.until))).toEqual(windows);
        expect(windows).toEqual(sendsOneByOne(schedule, audience, LAUNCH));
      }),
      { numRuns: sampledRuns(50) },
    );
  });

  it('of all zones takes a moment, however long the campaign lasts', () => {
    const audience = Intl.supportedValuesOf('timeZone').map((zone) => ({ zone, devices: 1 }));
    // Those of a hundred years are 15 million.
    expect(
      cpuTime(() => {
        const { sends, hasMore } = sendPlan(
          asDynamic({ adaptTz: true, endDate: at('2126-01-01T00:00:00Z') }),
          audience,
          START,
          100,
        );
        expect([sends.length, hasMore]).toEqual([100, true]);
      }),
    ).toBeLessThan(2_000);
  });
});

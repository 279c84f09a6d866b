import fc from 'fast-check';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEP = 30 * MINUTE;

/**
 * With clocks that change by an hour, by half an hour, around midnight or not at all. In 2010 Newfoundland's went back
 * over midnight, from 00:01, and in 2011 Samoa skipped a day.
 */
export const ZONES = [
  'UTC',
  'Europe/Paris',
  'America/New_York',
  'Australia/Lord_Howe',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'America/St_Johns',
  'Pacific/Apia',
  'America/Nuuk',
  'Africa/Cairo',
  '-03:30',
];

/**
 * A zone's clock as somebody sees it who looks at it each half hour, and each minute where it changes meanwhile: plain
 * and slow, a model for the rules. Times shown are in ms, as if they were UTC's.
 */
export type WalkedClock = {
  shownAt(instant: number): number;
  /** The first moment at which the clock shows this time, or has skipped it. */
  firstShowing(time: number): number;
  /** The days that the clock shows from one instant to another, as midnights, with their day of the week. */
  daysBetween(from: number, until: number): { day: number; weekday: number }[];
};

const YEARS = [2010, 2011, 2026];

const clocks = new Map<string, WalkedClock>();

export function walkedClock(zone: string): WalkedClock {
  const clock = clocks.get(zone) ?? walk(zone);
  clocks.set(zone, clock);
  return clock;
}

function walk(zone: string): WalkedClock {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const looks = new Map<number, { shown: number; weekday: number }>();
  const lookAt = (instant: number) => {
    const look = looks.get(instant) ?? readClock(format.format(instant));
    looks.set(instant, look);
    return look;
  };
  const stepOf = (instant: number) => Math.floor(instant / STEP) * STEP;
  /** For how long the next look can wait: the clock runs evenly until then. */
  const paceAt = (instant: number) =>
    lookAt(stepOf(instant) + STEP).shown - lookAt(stepOf(instant)).shown === STEP ? STEP : MINUTE;
  return {
    shownAt(instant) {
      const passed = instant % paceAt(instant);
      return lookAt(instant - passed).shown + passed;
    },
    firstShowing(time) {
      let at = stepOf(time - 16 * HOUR);
      while (lookAt(at).shown + paceAt(at) <= time) at += paceAt(at);
      return at + Math.max(0, time - lookAt(at).shown);
    },
    daysBetween(from, until) {
      const days = new Map<number, number>();
      for (let at = stepOf(from); at <= until; at += paceAt(at)) {
        const { shown, weekday } = lookAt(at);
        days.set(Math.floor(shown / DAY) * DAY, weekday);
      }
      return Array.from(days, ([day, weekday]) => ({ day, weekday }));
    },
  };
}

/** Such as `Sun, 03/29/2026, 03:00`. */
function readClock(text: string): { shown: number; weekday: number } {
  const [, name, month, day, year, hour, minute] = /^(\w+), (\d+)\/(\d+)\/(\d+), (\d+):(\d+)$/.exec(text)!;
  return {
    shown: Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute)),
    weekday: ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'].indexOf(name!),
  };
}

/** When the clock changed or will in a year. */
function changesOf(zone: string, year: number): number[] {
  const offsetAt = (instant: number) => walkedClock(zone).shownAt(instant) - instant;
  const days = Array.from({ length: 365 }, (_, index) => Date.UTC(year, 0, 1) + index * DAY);
  return days
    .filter((day) => offsetAt(day) !== offsetAt(day + DAY))
    .map((day) => {
      let change = day;
      while (offsetAt(change) === offsetAt(day)) change += MINUTE;
      return change;
    });
}

/** A moment of those years, at each second time within two days of a change of the zone's clock, if there are any. */
function momentIn(zone: string): fc.Arbitrary<number> {
  const within = (from: number, until: number) =>
    fc.oneof(
      fc.integer({ min: from, max: until }),
      fc.nat({ max: Math.floor((until - from) / STEP) }).map((steps) => from + steps * STEP),
    );
  const anywhere = YEARS.map((year) => within(Date.UTC(year, 0, 5), Date.UTC(year, 11, 31)));
  const nearChange = YEARS.flatMap((year) => changesOf(zone, year)).map((change) =>
    within(change - 2 * DAY, change + 2 * DAY),
  );
  return nearChange.length === 0 ? fc.oneof(...anywhere) : fc.oneof(fc.oneof(...anywhere), fc.oneof(...nearChange));
}

export const zoneAndMoment: fc.Arbitrary<{ zone: string; moment: number }> = fc.oneof(
  ...ZONES.map((zone) => fc.record({ zone: fc.constant(zone), moment: momentIn(zone) })),
);

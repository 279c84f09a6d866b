const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const OFFSET = /GMT(?:(?<sign>[+-])(?<hours>\d\d):(?<minutes>\d\d))?/;

/** What the clocks of a time zone show, and when. Times on clocks are in ms too, as if the clocks were UTC's. */
export type ZoneClock = {
  /** What the clocks show at an instant. */
  timeAt(instant: number): number;
  /** When they show a time: the first of two such instants, and the end of the gap for a time that they leave out. */
  instantOf(time: number): number;
};

/** The clocks of a zone of the IANA database; offsets count in whole minutes, as all have done since 1972. */
export function zoneClock(zone: string): ZoneClock {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' });
  const offsetAt = (instant: number): number => {
    const { sign, hours = '0', minutes = '0' } = OFFSET.exec(format.format(instant))?.groups ?? {};
    return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * MINUTE_MS;
  };
  return {
    timeAt: (instant) => instant + offsetAt(instant),
    instantOf: (time) => firstInstantOf(time, offsetAt),
  };
}

function firstInstantOf(time: number, offsetAt: (instant: number) => number): number {
  // No zone is a day away from UTC: these lie before and after the instant, whichever it is.
  const offsetBefore = offsetAt(time - DAY_MS);
  const offsetAfter = offsetAt(time + DAY_MS);
  const early = time - offsetBefore;
  if (offsetAt(early) === offsetBefore) return early;
  const late = time - offsetAfter;
  if (offsetAt(late) === offsetAfter) return late;
  return changeWithin(late, early, offsetAt);
}

/** The instant at which the offset changes, after `from` and by `until`: clocks change at whole minutes. */
function changeWithin(from: number, until: number, offsetAt: (instant: number) => number): number {
  let [before, after] = [Math.floor(from / MINUTE_MS), Math.floor(until / MINUTE_MS)];
  const offset = offsetAt(from);
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetAt(middle * MINUTE_MS) === offset) before = middle;
    else after = middle;
  }
  return after * MINUTE_MS;
}

/**
 * ISO with milliseconds, cut and not rounded, for the years 1 to 9999. Postgres leaves zeros at the end out, so a
 * microsecond is added that is then cut off. to_char takes half as long again.
 */
const upToMilliseconds = (time: string, later: string) =>
  `replace(left((date_trunc('milliseconds', ${time}) + ${later})::text, 23), ' ', 'T')`;

export const isoUtc = (time: string): string => `${upToMilliseconds(time, `'1 us'::interval`)} || 'Z'`;

/** Offsets in minutes that are written out, the most frequent first: they are compared one after the other. */
const FREQUENT_OFFSETS = [0, 60, 120, -300, -240, -420, -360, -480, 180, 330, 480, 540, 600, -180];

/** A time in the zone of a device, with its offset: 2026-11-20T01:30:00.000+05:30. Null where the offset is unknown. */
export function isoOfDevice(time: string, offset: string): string {
  const frequent = FREQUENT_OFFSETS.map((minutes) => `WHEN ${minutes} THEN '${offsetText(minutes)}'`).join(' ');
  const any = `CASE WHEN ${offset} < 0 THEN '-' ELSE '+' END
    || to_char(abs(${offset}) / 60, 'FM00:') || to_char(abs(${offset}) % 60, 'FM00')`;
  return `${upToMilliseconds(time, `make_interval(mins => ${offset}, secs => 0.000001)`)} || CASE ${offset} ${frequent} ELSE ${any} END`;
}

function offsetText(minutes: number): string {
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}

/**
 * SQL for ISO with milliseconds, truncated, for the years 1 to 9999. Postgres drops trailing zeros, so a microsecond is
 * added and then cut off. to_char takes 1.5 times as long.
 */
const upToMilliseconds = (time: string, later: string) =>
  `replace(left((date_trunc('milliseconds', ${time}) + ${later})::text, 23), ' ', 'T')`;

export const isoUtc = (time: string): string => `${upToMilliseconds(time, `'1 us'::interval`)} || 'Z'`;

/** Offsets in minutes that the SQL lists, the most frequent first, because they are compared in order. */
const FREQUENT_OFFSETS = [0, 60, 120, -300, -240, -420, -360, -480, 180, 330, 480, 540, 600, -180];

/** SQL for a time in a device's zone, with its offset: 2026-11-20T01:30:00.000+05:30. Null if the offset is unknown. */
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

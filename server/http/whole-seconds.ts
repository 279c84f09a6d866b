/** Returns a time as exporters show it: ISO 8601 in UTC, in whole seconds. */
export function wholeSeconds(time: Date): string {
  return `${time.toISOString().slice(0, 'YYYY-MM-DDTHH:MM:SS'.length)}Z`;
}

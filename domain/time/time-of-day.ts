/** Returns a minute of the day as its clock shows it, such as 22:00. */
export function showTimeOfDay(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':');
}

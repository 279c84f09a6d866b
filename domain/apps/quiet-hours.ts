/** When an app sends no push: from one minute of the day to another; `timezone` null: the app's own. */
export type QuietHours = { start: number; end: number; timezone: string | null };

const TIME_OF_DAY = /^([01]\d|2[0-3]):([0-5]\d)$/;

export function readTimeOfDay(text: string): number | undefined {
  const match = TIME_OF_DAY.exec(text);
  return match ? Number(match[1]) * 60 + Number(match[2]) : undefined;
}

export function showTimeOfDay(minutes: number): string {
  return [Math.floor(minutes / 60), minutes % 60].map((part) => String(part).padStart(2, '0')).join(':');
}

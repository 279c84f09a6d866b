/** When an app sends no push: from one minute of the day to another; `timezone` null: the app's own. */
export type QuietHours = { start: number; end: number; timezone: string | null };

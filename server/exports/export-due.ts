import { exportSchedule, lastMidnight, latestDue } from '../../domain/exports/export-schedule.ts';
import type { DataExporter } from '../../store/exports/data-exporter-record.ts';

const DAY_MS = 86_400_000;
/** A run that is due waits for writers, and then takes its time. */
const GRACE_MS = 3_600_000;

/** Until where an exporter should have exported by now: an hour after it was due. Null: nothing was due since it became what it is. */
export function dueUntil({ identifier, active, updatedAt }: DataExporter, zone: string, now: Date): Date | null {
  if (!active) return null;
  const past = new Date(now.getTime() - GRACE_MS);
  const due = latestDue(exportSchedule(identifier, zone), new Date(past.getTime() - 2 * DAY_MS), past);
  return due > updatedAt ? lastMidnight(zone, due) : null;
}

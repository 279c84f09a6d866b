import type { z } from 'zod';
import type { EachMember } from '../../domain/syncs/sync-members.ts';
import { scheduleFault, type SyncSchedule } from '../../domain/syncs/sync-schedule.ts';
import { bodyInteger, closedObject, text } from '../http/input.ts';

/** When a sync runs, as a caller says it (docs/syncs.md). */
const Members = closedObject({
  cron: text().optional(),
  zone: text().optional().describe('Of cron: an IANA zone, by default UTC'),
  every_minutes: bodyInteger({ min: 1, max: 10_080 }).optional(),
  jitter_seconds: bodyInteger({ min: 0, max: 3_600 }).optional(),
} satisfies EachMember<'schedule', z.ZodType>);

type Members = z.output<typeof Members>;

export const ScheduleBody = Members.superRefine((body, ctx) => {
  const fault = faultOf(body);
  if (fault) ctx.addIssue({ code: 'custom', path: fault.element === '' ? [] : [fault.element], message: fault.message });
});

/** By the member's name; '' is the schedule. */
function faultOf(body: Members): { element: string; message: string } | undefined {
  const { cron, zone, every_minutes: everyMinutes } = body;
  if ((cron === undefined) === (everyMinutes === undefined)) return { element: '', message: 'must have either cron or every_minutes' };
  if (zone !== undefined && cron === undefined) return { element: 'zone', message: 'is of cron: every_minutes knows no clock' };
  const fault = scheduleFault(givenSchedule(body));
  return fault && { ...fault, element: fault.element.replace('schedule.', '') };
}

/** Of a body that was taken. */
export function givenSchedule({ cron, zone, every_minutes: everyMinutes, jitter_seconds: jitterSeconds = 0 }: Members): SyncSchedule {
  return cron === undefined ? { everyMinutes: everyMinutes!, jitterSeconds } : { cron, zone: zone ?? 'UTC', jitterSeconds };
}

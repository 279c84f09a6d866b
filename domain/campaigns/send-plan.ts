/** The plan of a campaign to an audience: the times of its sends, by zone. */

import type { Recurrence } from './campaign-body.ts';
import type { CampaignType } from './campaign-status.ts';
import { localMoment } from './local-time.ts';
import { type SendWindow, windowsBetween } from './recurrence.ts';

/** The settings of a campaign that say when it sends. */
export type SendSchedule = {
  /** Null: at the launch. */
  startDate: Date | null;
  adaptTz: boolean;
  appZone: string;
} &
  /** `endDate` is null if there is none, or if it has no effect, as for pushes only. */
  ({ type: 'classic'; endDate: Date | null } | { type: 'dynamic'; endDate: Date; recurrence: Recurrence });

/**
 * Returns the schedule of a campaign to an audience. A classic campaign of pushes only ignores its end (reference:
 * Campaign body).
 */
export function scheduleOf({
  type,
  startDate,
  endDate,
  adaptTz,
  appTimezone: appZone,
  recurrence,
  includesInapp,
}: {
  type: CampaignType;
  startDate: Date | null;
  endDate: Date | null;
  adaptTz: boolean;
  appTimezone: string;
  recurrence: Recurrence | null;
  includesInapp: boolean;
}): SendSchedule {
  const shared = { startDate, adaptTz, appZone };
  return type === 'dynamic'
    ? { ...shared, type, endDate: endDate!, recurrence: recurrence! }
    : { ...shared, type: 'classic', endDate: includesInapp ? endDate : null };
}

/** The launch, or now for a draft; and the time from which the plan begins. */
type PlanStart = { launchedAt: Date; from: Date };

/** The devices of a zone; null if not counted. */
export type ZoneDevices = { zone: string; devices: number | null };

type PlannedSend = {
  at: Date;
  /** Messages leave as people enter the audience, until before this; null: all at `at`. */
  until: Date | null;
  /** The names of the zones whose devices get it then; null: all devices. */
  zones: string[] | null;
  /** Null for a dynamic campaign, whose audience is unknown before, and if devices are not counted. */
  devices: number | null;
};

type SendPlan = { sends: PlannedSend[]; hasMore: boolean };

/**
 * Returns the first `limit` sends from `from` on, in order of time. Zones with the same moment, or window, share an
 * entry. The cost grows with zones and `limit`, not with the length of the campaign.
 */
export function sendPlan(
  schedule: SendSchedule,
  audience: readonly ZoneDevices[],
  start: PlanStart,
  limit: number,
): SendPlan {
  const sends: PlannedSend[] = [];
  for (const {
    window: { from: at, until },
    groups,
  } of inOrder(schedule, groupsOf(schedule, audience), start)) {
    if (sends.length === limit) return { sends, hasMore: true };
    const zones = schedule.adaptTz ? Array.from(new Set(groups.map(({ zone }) => zone))).sort() : null;
    sends.push({ at, until, zones, devices: schedule.type === 'classic' ? sumOf(groups) : null });
  }
  return { sends, hasMore: false };
}

/** Yields when a campaign sends to devices in `zone`, which counts with `adaptTz` only: once, or in its windows. */
export function* windowsOf(
  schedule: SendSchedule,
  zone: string,
  { launchedAt, from }: PlanStart,
): Generator<SendWindow, undefined> {
  const start = laterOf(schedule.startDate ?? launchedAt, launchedAt);
  if (schedule.type === 'dynamic') {
    const { recurrence, adaptTz, appZone, endDate } = schedule;
    yield* windowsBetween(recurrence, adaptTz ? zone : (recurrence.timezone ?? appZone), laterOf(start, from), endDate);
    return;
  }
  // A start in the past still gives the hour of the day.
  const { startDate, adaptTz, appZone, endDate } = schedule;
  const at = adaptTz ? localMoment(startDate ?? launchedAt, appZone, zone, launchedAt) : start;
  if (at >= from && (endDate === null || at < endDate)) yield { from: at, until: null };
}

/** Groups devices by zone. Without `adaptTz` all devices are one group, whatever their zone. */
function groupsOf({ adaptTz, appZone }: SendSchedule, audience: readonly ZoneDevices[]): readonly ZoneDevices[] {
  return adaptTz ? audience : [{ zone: appZone, devices: sumOf(audience) }];
}

function sumOf(groups: readonly ZoneDevices[]): number | null {
  return groups.reduce<number | null>(
    (sum, { devices }) => (sum === null || devices === null ? null : sum + devices),
    0,
  );
}

/** A group's next window, and the following ones. */
type Head = { group: ZoneDevices; window: SendWindow; windows: Iterator<SendWindow, undefined> };

/** Yields each distinct window once, with its groups. */
function* inOrder(
  schedule: SendSchedule,
  groups: readonly ZoneDevices[],
  start: PlanStart,
): Generator<{ window: SendWindow; groups: ZoneDevices[] }> {
  let heads = groups.flatMap((group) => headOf(group, windowsOf(schedule, group.zone, start)));
  while (heads.length > 0) {
    const { window } = heads.reduce((first, head) => (compareWindows(head.window, first.window) < 0 ? head : first));
    const isFirst = (head: Head) => compareWindows(head.window, window) === 0;
    yield { window, groups: heads.filter(isFirst).map(({ group }) => group) };
    heads = heads.flatMap((head) => (isFirst(head) ? headOf(head.group, head.windows) : [head]));
  }
}

function headOf(group: ZoneDevices, windows: Iterator<SendWindow, undefined>): Head[] {
  const { value: window } = windows.next();
  return window === undefined ? [] : [{ group, window, windows }];
}

function compareWindows(one: SendWindow, other: SendWindow): number {
  const lengthOf = ({ from, until }: SendWindow) => (until ?? from).getTime() - from.getTime();
  return one.from.getTime() - other.from.getTime() || lengthOf(one) - lengthOf(other);
}

function laterOf(one: Date, other: Date): Date {
  return one > other ? one : other;
}

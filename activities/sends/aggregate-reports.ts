import { deleteOldTests } from '../../store/campaigns/campaign-tests.ts';
import { write } from '../../store/core/database.ts';
import {
  countControlGroupDay,
  findDueControlGroupDay,
  updateControlGroupDay,
  upsertControlGroupDay,
} from '../../store/sends/control-group-days.ts';
import {
  type CampaignDay,
  deleteEndedContent,
  deleteOldAttempts,
  deleteOldSends,
  findNow,
  findRollup,
  listChangedDays,
  listEndedDays,
  recountDay,
  type Rollup,
  updateCountedUntil,
  updateKeptSince,
  updateReceivedOnDevices,
} from '../../store/sends/report-rollups.ts';
import { REPORT_DAYS } from '../../store/sends/reports.ts';
import { heartbeating } from '../core/heartbeat.ts';
import { inSlot } from '../core/in-slot.ts';
import type { Dependencies } from '../dependencies.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { deliverOutcomes, type Delivering } from './deliver-outcomes.ts';

export type AggregateReportsSteps = ReturnType<typeof aggregateReportsSteps>;
type Used = Pick<Dependencies, 'db' | 'boundary'>;

export const aggregateReportsSteps = (
  deps: Delivering & Pick<Dependencies, 'takeReportSlot'>,
  now = () => new Date(),
) => ({
  /**
   * Counts the days of campaigns whose attempts changed, and those of control groups that are due; a repeat finds the
   * same.
   */
  countAttempts: (entityId: number): Promise<void> => inReportSlot(deps, entityId, () => countAttempts(deps, entityId)),

  /**
   * Lets go of attempts that are older than reports reach, and of what is not kept as long; what each person got stays
   * as a count.
   */
  dropAttempts: (entityId: number): Promise<void> =>
    inReportSlot(deps, entityId, () => dropAttempts(deps, entityId, now())),

  /** Sends what became of messages to the connections that apps name. */
  deliverOutcomes: (entityId: number): Promise<void> => heartbeating(() => deliverOutcomes(deps, entityId)),
});

function inReportSlot(
  deps: Pick<Dependencies, 'takeReportSlot'>,
  entityId: number,
  work: () => Promise<void>,
): Promise<void> {
  return heartbeating(() => inSlot(deps.takeReportSlot, entityId, work));
}

const NEVER = new Date(0);

/** Attempts that were made before this day are not kept. */
const firstKeptDay = (now: Date) => new Date(now.getTime() - REPORT_DAYS * DAY_MS).toISOString().slice(0, 10);

export async function countAttempts({ db, boundary }: Used, entityId: number): Promise<void> {
  const startedAt = await findNow(db);
  const rollup: Rollup = (await findRollup(db, entityId)) ?? { countedUntil: NEVER, keptSince: '-infinity' };
  const days = await listChangedDays(db, entityId, rollup);
  await recount({ db, boundary }, entityId, days);
  for (const day of days) await updateReceivedOnDevices(db, entityId, day, rollup.countedUntil);
  boundary('reports: before counted until');
  await updateCountedUntil(db, entityId, startedAt);
  await countControlGroups({ db, boundary }, entityId);
}

/** Each day is due again later, also one that takes too long: it holds up no other report. */
async function countControlGroups({ db, boundary }: Used, entityId: number): Promise<void> {
  for (
    let day = await findDueControlGroupDay(db, entityId);
    day !== null;
    day = await findDueControlGroupDay(db, entityId)
  ) {
    await updateControlGroupDay(db, entityId, day, await countControlGroupDay(db, entityId, day));
    boundary('reports: between days of control groups');
  }
}

async function recount({ db, boundary }: Used, entityId: number, days: readonly CampaignDay[]): Promise<void> {
  for (const day of days) {
    await write(db, async (tx) => {
      await recountDay(tx, entityId, day);
      await upsertControlGroupDay(tx, entityId, day);
    });
    boundary('reports: between days');
  }
}

export async function dropAttempts({ db, boundary }: Used, entityId: number, now: Date): Promise<void> {
  const rollup = await findRollup(db, entityId);
  if (!rollup) return;
  while ((await write(db, (tx) => deleteEndedContent(tx, entityId))) > 0) boundary('reports: between deletions');
  const until = firstKeptDay(now);
  if (rollup.keptSince < until) {
    // For the last time: a day of which some are gone can't be counted.
    await recount({ db, boundary }, entityId, await listEndedDays(db, entityId, rollup, until));
    await updateKeptSince(db, entityId, until);
  }
  while ((await write(db, (tx) => deleteOldAttempts(tx, entityId))) > 0) boundary('reports: between deletions');
  await deleteOldTests(db, entityId);
  await deleteOldSends(db, entityId);
}

/** Steps of `aggregateReports`: count attempts, delete old ones, and deliver outcomes to apps' connections. */

import type { OutcomeRecord } from '../../connectors/core/contract.ts';
import { redacted } from '../../connectors/core/redacted.ts';
import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { nextTry } from '../../domain/jobs/patience.ts';
import { messageIdOf } from '../../domain/sends/attempt.ts';
import { deleteOldTests } from '../../store/campaigns/campaign-tests.ts';
import { write } from '../../store/core/database.ts';
import { findNow, findWindowOpenMs } from '../../store/core/open-window.ts';
import { type CampaignDay, countDueControlGroupDay } from '../../store/sends/control-group-days.ts';
import {
  beginOutcomeBatch,
  findSettledUntil,
  listOutcomeDeliveries,
  listOutcomes,
  type OutcomeDelivery,
  type SettledOutcome,
  updateOutcomesDelivered,
  updateOutcomesFailed,
} from '../../store/sends/outcome-deliveries.ts';
import {
  deleteEndedContent,
  deleteOldAttempts,
  deleteOldSends,
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
import { findConnection } from '../../store/syncs/connections.ts';
import { heartbeating } from '../core/heartbeat.ts';
import { inSlot } from '../core/in-slot.ts';
import type { Dependencies } from '../dependencies.ts';
import { DAY_MS } from '../../domain/time/durations.ts';
import { NO_ANSWER, type OpenConnection, openConnection, sendingContext } from '../syncs/open-connection.ts';

export type AggregateReportsSteps = ReturnType<typeof aggregateReportsSteps>;
type Used = Pick<Dependencies, 'db' | 'boundary'>;

export const aggregateReportsSteps = (
  deps: Delivering & Pick<Dependencies, 'takeReportSlot'>,
  now = () => new Date(),
) => ({
  /** Counts days of campaigns whose attempts changed, and due control groups. A repeat gives the same counts. */
  countAttempts: (entityId: number): Promise<void> => inReportSlot(deps, entityId, () => countAttempts(deps, entityId)),

  /** Deletes attempts older than reports reach; counts of each person stay. */
  dropAttempts: (entityId: number): Promise<void> =>
    inReportSlot(deps, entityId, () => dropAttempts(deps, entityId, now())),

  /** Sends outcomes of messages to the connections that apps name. */
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

/** Returns the first day whose attempts are kept. */
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

/** Counts due days. Each is due again later, even one that took too long, so that it holds up no other report. */
async function countControlGroups({ db, boundary }: Used, entityId: number): Promise<void> {
  while (await countDueControlGroupDay(db, entityId)) boundary('reports: between days of control groups');
}

async function recount({ db, boundary }: Used, entityId: number, days: readonly CampaignDay[]): Promise<void> {
  for (const day of days) {
    await write(db, (tx) => recountDay(tx, entityId, day));
    boundary('reports: between days');
  }
}

export async function dropAttempts({ db, boundary }: Used, entityId: number, now: Date): Promise<void> {
  const rollup = await findRollup(db, entityId);
  if (!rollup) return;
  while ((await write(db, (tx) => deleteEndedContent(tx, entityId))) > 0) boundary('reports: between deletions');
  const until = firstKeptDay(now);
  if (rollup.keptSince < until) {
    // The last count: a day with deleted attempts can't be counted again.
    await recount({ db, boundary }, entityId, await listEndedDays(db, entityId, rollup, until));
    await updateKeptSince(db, entityId, until);
  }
  while ((await write(db, (tx) => deleteOldAttempts(tx, entityId))) > 0) boundary('reports: between deletions');
  await deleteOldTests(db, entityId);
  await deleteOldSends(db, entityId);
}

type Delivering = Pick<
  Dependencies,
  'db' | 'secrets' | 'outside' | 'scratch' | 'log' | 'draining' | 'boundary' | 'takeDeliverySlot'
>;

/** Sends the outcomes of each app's messages to its connection. After a failure it tries again later. */
export async function deliverOutcomes(deps: Delivering, entityId: number): Promise<void> {
  const deliveries = await listOutcomeDeliveries(deps.db, entityId);
  if (deliveries.length === 0) return;
  const until = await findSettledUntil(deps.db);
  // An open transaction may still commit an attempt that settled before.
  if ((await findWindowOpenMs(deps.db, until)) > 0) return;
  for (const delivery of deliveries) await deliverOfApp(deps, entityId, delivery, until);
}

async function deliverOfApp(deps: Delivering, entityId: number, delivery: OutcomeDelivery, until: Date): Promise<void> {
  const { db, draining, takeDeliverySlot } = deps;
  let opened: OpenConnection | null = null;
  try {
    const receiver = (opened = await openReceiver(deps, entityId, delivery));
    const deliverNext = () => deliverBatch(deps, entityId, delivery, { opened: receiver, until });
    while (!draining.aborted && (await inSlot(takeDeliverySlot, entityId, deliverNext)));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const next = nextTry(error, delivery, { now: new Date(), patienceMs: Infinity, finalTries: Infinity })!;
    const failure = redacted(error.message, opened?.secretSettings ?? {});
    await updateOutcomesFailed(db, entityId, delivery.appId, { ...next, failure });
    deps.log.warn(
      { app: delivery.app, status: error.status, tries: next.tries },
      'outcomes of messages were not delivered',
    );
  }
}

async function openReceiver(
  deps: Delivering,
  entityId: number,
  { connection }: OutcomeDelivery,
): Promise<OpenConnection> {
  const found = await findConnection(deps.db, entityId, connection);
  if (!found) throw sourceRefusal('source_refused', 'The connection was deleted: give the app another');
  return openConnection(deps, entityId, found.id);
}

/**
 * Sends the next batch, and returns whether there was one. Stores the batch's end before it leaves, so that a repeat
 * under its id has the same outcomes.
 */
async function deliverBatch(
  deps: Delivering,
  entityId: number,
  { appId, app }: OutcomeDelivery,
  { opened: { connector, settings }, until }: { opened: OpenConnection; until: Date },
): Promise<boolean> {
  const { db, boundary } = deps;
  const channel = connector.outcomes!;
  const batch = await write(db, (tx) =>
    beginOutcomeBatch(tx, entityId, appId, { until, limit: channel.batchSize(settings) }),
  );
  if (batch === null) return false;
  const outcomes = await listOutcomes(db, entityId, appId, batch);
  if (outcomes.length > 0) {
    boundary('outcomes: noted');
    const context = sendingContext(deps, entityId);
    const batchId = `${app}-${batch.deliveredAt.replaceAll(/\D/g, '')}-${batch.deliveredId}`;
    const sent = { batchId, appId: app, outcomes: outcomes.map(toRecord) };
    await channel.send(settings, sent, context).catch((error: unknown) => {
      throw context.signal.aborted ? sourceRefusal('source_unavailable', NO_ANSWER) : error;
    });
    boundary('outcomes: sent');
  }
  await updateOutcomesDelivered(db, entityId, appId, batch);
  return true;
}

function toRecord({
  id,
  campaign,
  send,
  userId,
  deviceId,
  code,
  details,
  channel,
  settledAt,
}: SettledOutcome): OutcomeRecord {
  return {
    millrace_id: messageIdOf(id),
    campaign_id: campaign,
    requestId: send,
    user: userId,
    device_id: deviceId,
    code,
    details,
    channel,
    date: settledAt.toISOString(),
  };
}

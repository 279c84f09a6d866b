import type { OutcomeRecord } from '../../connectors/core/contract.ts';
import { redacted } from '../../connectors/core/redacted.ts';
import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import { nextTry } from '../../domain/jobs/patience.ts';
import { messageIdOf } from '../../domain/sends/attempt-outcome.ts';
import { write } from '../../store/core/database.ts';
import { findWindowOpenMs } from '../../store/core/open-window.ts';
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
import { findConnection } from '../../store/syncs/connections.ts';
import { inSlot } from '../core/in-slot.ts';
import type { Dependencies } from '../dependencies.ts';
import { NO_ANSWER, type OpenConnection, openConnection, sendingContext } from '../syncs/open-connection.ts';

export type Delivering = Pick<
  Dependencies,
  'db' | 'secrets' | 'outside' | 'scratch' | 'log' | 'draining' | 'boundary' | 'takeDeliverySlot'
>;

/** Sends the outcomes of each app's messages to its connection; one that takes none is tried again later. */
export async function deliverOutcomes(deps: Delivering, entityId: number): Promise<void> {
  const deliveries = await listOutcomeDeliveries(deps.db, entityId);
  if (deliveries.length === 0) return;
  const until = await findSettledUntil(deps.db);
  // Somebody may still commit an attempt that settled before.
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
 * Whether there was a batch. Its end is written down before it goes out: a repeat under its id has the same outcomes.
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

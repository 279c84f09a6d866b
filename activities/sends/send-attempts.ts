import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { WAITS_FOR } from '../../domain/sends/attempt-code.ts';
import { settleOutcome } from '../../domain/sends/attempt-outcome.ts';
import { decideDevice, type TargetDevice } from '../../domain/sends/device-decision.ts';
import type { PushOutcome } from '../../domain/sends/push.ts';
import { endOfQuiet } from '../../domain/sends/quiet-hours.ts';
import type { Tx } from '../../store/core/database.ts';
import { type AttemptOutcome, type DueAttempt, putOffAttempts, settleAttempts } from '../../store/sends/attempts.ts';
import { updateProviderRefusals } from '../../store/sends/push-providers.ts';
import { updateTokensGone } from '../../store/sends/send-targets.ts';
import type { Dependencies } from '../dependencies.ts';
import { limitedPush, type OutgoingPush, outgoingPush, type SendingContext, takePaces } from './plan-attempts.ts';

export type SentPush = { push: OutgoingPush; outcome: PushOutcome };

/** Sends a push that is written down as sending. */
export async function sendPush({ log }: Pick<Dependencies, 'log'>, push: OutgoingPush): Promise<SentPush> {
  try {
    return { push, outcome: await push.provider.send(push.target, push.message) };
  } catch (error) {
    // A fault of ours, of which nothing tells whether the push went out: the others of the chunk have their outcomes.
    log.error({ attempt: push.id, provider: push.provider.name, ...internalErrorOf(error) }, 'a push failed');
    return {
      push,
      outcome: { kind: 'unknown', reason: 'an error of Millrace, which its log tells of under this attempt' },
    };
  }
}

/** Records what became of pushes. */
export async function settlePushes(tx: Tx, entityId: number, sent: readonly SentPush[]): Promise<void> {
  const now = new Date();
  await settleAttempts(
    tx,
    entityId,
    sent.map(({ push: { id, campaignId, tries, expiresAt }, outcome }): AttemptOutcome => ({
      id,
      campaignId,
      ...settleOutcome(outcome, { tries, expiresAt, now }),
    })),
  );
  await updateProviderRefusals(
    tx,
    entityId,
    sent.flatMap(({ push: { appId, provider }, outcome }) => {
      if (outcome.kind !== 'sent' && outcome.kind !== 'refused') return [];
      return [{ appId, provider: provider.name, code: outcome.kind === 'sent' ? null : outcome.code }];
    }),
  );
  await updateTokensGone(
    tx,
    entityId,
    sent.flatMap(({ push: { appId, deviceId, token }, outcome }) =>
      outcome.kind === 'gone' ? [{ appId, deviceId, token, since: outcome.since }] : [],
    ),
  );
}

/** Attempts that waited are decided again: the person may have opted out, or logged out, meanwhile. */
export async function sendAgain(tx: Tx, context: SendingContext, due: readonly DueAttempt[]): Promise<OutgoingPush[]> {
  const { send, campaigns, apps, providers, now } = context;
  const settled: AttemptOutcome[] = [];
  const allowed: (DueAttempt & { device: TargetDevice })[] = [];
  for (const attempt of due) {
    const { id, campaignId, appId, userId, expiresAt, device } = attempt;
    const decision = device && decideDevice(device, userId, campaigns.get(campaignId)!, apps.get(appId)!);
    const end = (code: AttemptOutcome['code'], details: string | null) =>
      settled.push({ id, campaignId, code, details, providerMessageId: null, dueAt: null });
    if (!decision) end('NO_DEVICE_FOR_USER', 'the device is gone');
    else if (expiresAt <= now) end('EXPIRED', null);
    else if (!decision.push) end(decision.code, decision.details);
    else allowed.push({ ...attempt, device });
  }
  await settleAttempts(tx, send.entityId, settled, 'waiting');
  const later = await putOff(tx, { send, apps, now }, allowed);
  return allowed
    .filter(({ id }) => !later.has(id))
    .map((attempt) => {
      const {
        id,
        campaignId,
        appId,
        messageOrdinal: ordinal,
        userId,
        tries,
        isPaced,
        expiresAt,
        device,
        content,
      } = attempt;
      const limited = limitedPush(context, { campaignId, appId, ordinal, userId, device });
      return outgoingPush(
        { id, campaignId, appId, tries: tries + 1, isPaced, expiresAt, limited },
        {
          device,
          content: content.push!,
          app: apps.get(appId)!,
          provider: providers.get(appId)!,
          now,
        },
      );
    });
}

/**
 * Those whose time falls into quiet hours wait for their end; others that waited for something else than their moment
 * at the app's send rate get one. The ids of those that wait again.
 */
async function putOff(
  tx: Tx,
  { send: { entityId }, apps, now }: Pick<SendingContext, 'send' | 'apps' | 'now'>,
  due: readonly DueAttempt[],
): Promise<ReadonlySet<number>> {
  const later: (DueAttempt & { dueAt: Date; details: string })[] = [];
  for (const [appId, own] of Map.groupBy(due, (attempt) => attempt.appId)) {
    const quietUntil = endOfQuiet(apps.get(appId)!.quietHours, now);
    if (quietUntil > now) {
      later.push(
        ...own.map((attempt) => ({ ...attempt, isPaced: false, dueAt: quietUntil, details: WAITS_FOR.quiet })),
      );
    } else {
      const paced = own
        .filter(({ isPaced }) => !isPaced)
        .map((attempt) => ({ ...attempt, isPaced: true, dueAt: now, details: WAITS_FOR.rate }));
      later.push(...(await takePaces(tx, entityId, apps, paced)).filter(({ dueAt }) => dueAt > now));
    }
  }
  await putOffAttempts(tx, entityId, later);
  return new Set(later.map(({ id }) => id));
}

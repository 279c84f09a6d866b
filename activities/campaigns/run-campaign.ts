import type { JobClaim, JobRef } from '../../domain/jobs/job.ts';
import type { TargetDevice } from '../../domain/sends/device-decision.ts';
import type { PlannedMessage } from '../../domain/sends/plan-messages.ts';
import {
  type AudienceKey,
  type DueDevice,
  deleteAudience,
  findNextOfAudience,
  takeAudience,
} from '../../store/campaigns/audience.ts';
import { deleteCampaignMembers } from '../../store/campaigns/campaign-members.ts';
import { updateCampaignStatus } from '../../store/campaigns/campaign-runs.ts';
import type { Tx } from '../../store/core/database.ts';
import { claimJob } from '../../store/jobs/jobs.ts';
import { heartbeating } from '../core/heartbeat.ts';
import type { RetryAfter } from '../core/retry-after.ts';
import type { Dependencies } from '../dependencies.ts';
import { planPortion, type SendingContext, type Targets } from '../sends/plan-attempts.ts';
import { type MessageSource, sendMessages } from '../sends/send-loop.ts';
import { SendingProviders } from '../sends/sending-provider.ts';
import { prepareAudience } from './prepare-audience.ts';

export type RunCampaignSteps = ReturnType<typeof runCampaignSteps>;

export const runCampaignSteps = (deps: Dependencies, providers = new SendingProviders(deps)) => ({
  /** Makes the row this run's; null when it is another's, or over. */
  async claimCampaign(ref: JobRef, workflowRunId: string): Promise<JobClaim | null> {
    const claimed = await claimJob<{ generation: number }>(deps.db, 'campaign', ref, workflowRunId);
    deps.boundary('campaign: claimed');
    return claimed && { ...ref, generation: claimed.generation };
  },

  /**
   * Finds the devices of the audience: of a classic campaign once it begins, of a dynamic one at each of its times.
   * When to go on, or null when they are found, or nothing is to be found.
   */
  prepareAudience: (claim: JobClaim): Promise<RetryAfter | null> => heartbeating(() => prepareAudience(deps, claim)),

  /** Sends to the devices whose time has come; when to go on, or null at the end. */
  sendToAudience: (claim: JobClaim): Promise<RetryAfter | null> =>
    heartbeating(() => sendMessages({ ...deps, providers }, claim, audience)),
});

/** Devices that are left when a campaign is canceled go so many at once. */
const DELETED_AT_ONCE = 20_000;

/** The devices of an audience, in a step that goes through them. */
function audience(): MessageSource {
  let after: AudienceKey | null = null;
  const take = async (tx: Tx, context: SendingContext, limit: number): Promise<DueDevice[]> => {
    const { send } = context;
    const { appId } = campaignOf(context);
    const { devices, last } = await takeAudience(tx, send.entityId, { id: send.id, appId }, after, limit);
    // Others may have come before, and what a transaction took that did not commit is there again.
    const isFromStart = after === null;
    after = last;
    return devices.length > 0 || isFromStart ? devices : take(tx, context, limit);
  };
  return {
    async planNext(tx, context, limit) {
      const { send } = context;
      const none = { outgoing: [], isFull: false };
      if (send.cancelRequestedAt !== null && (await deleteAudience(tx, send.entityId, send.id, DELETED_AT_ONCE)) > 0)
        return none;
      // Those found before its end get what it sends.
      const devices = send.cancelRequestedAt === null ? await take(tx, context, limit) : [];
      if (devices.length > 0) {
        const current = hasEnded(context, after!) ? withoutOngoing(context) : context;
        const outgoing = await planPortion(tx, current, byPerson(devices, send.looks), async (chunk) =>
          targetsOf(chunk),
        );
        return { outgoing, isFull: devices.length === limit };
      }
      return isOver(context) && (await deleteCampaignMembers(tx, send.entityId, send.id, DELETED_AT_ONCE)) > 0
        ? none
        : null;
    },
    findNextDue: (tx, { entityId, id }) => findNextOfAudience(tx, entityId, id),
    nextLook: (context) =>
      campaignOf(context).type !== 'dynamic' || isOver(context) ? null : (context.send.nextLookAt ?? context.now),
    async end(tx, context) {
      const { send, now } = context;
      const { id, type, includesInapp, endDate, isOngoing } = campaignOf(context);
      if (send.cancelRequestedAt !== null || !isOngoing) return null;
      // Devices get its in-app messages until then, and a dynamic one lasts as long as it said.
      if ((includesInapp || type === 'dynamic') && endDate !== null && endDate > now) return endDate;
      await updateCampaignStatus(tx, send.entityId, id, 'finished');
      return null;
    },
  };
}

function campaignOf({ campaigns, send }: SendingContext) {
  return campaigns.get(send.campaignId!)!;
}

/**
 * Whether a classic campaign has come to its end (`scheduleOf`) before these devices got it: by the clock here, or that
 * of Postgres.
 */
function hasEnded(context: SendingContext, { dueAt }: AudienceKey): boolean {
  const { type, includesInapp, endDate } = campaignOf(context);
  return (
    type === 'classic' && includesInapp && endDate !== null && (endDate <= context.now || endDate <= new Date(dueAt))
  );
}

/** What is planned becomes CANCELED. */
function withoutOngoing(context: SendingContext): SendingContext {
  return {
    ...context,
    campaigns: new Map([...context.campaigns].map(([id, campaign]) => [id, { ...campaign, isOngoing: false }])),
  };
}

/** No person enters its audience any more. */
function isOver(context: SendingContext): boolean {
  const { type, endDate } = campaignOf(context);
  return context.send.cancelRequestedAt !== null || (type === 'dynamic' && endDate! <= context.now);
}

/** A message to a person, with the devices whose time has come. */
type ToPerson = [PlannedMessage, readonly TargetDevice[]];

/** `ordinal`: of what the campaign sends. */
function byPerson(rows: readonly DueDevice[], ordinal: number): ToPerson[] {
  return Array.from(
    Map.groupBy(rows, (row) => row.person),
    ([person, own]): ToPerson => [
      { ordinal, userId: person.startsWith('u') ? person.slice(1) : null, userHash: null, vars: null },
      own.flatMap(({ device }) => device ?? []),
    ],
  );
}

function targetsOf(chunk: readonly ToPerson[]): Targets {
  const devices = new Map(chunk);
  return { messages: [...devices.keys()], devicesOf: (_appId, message) => devices.get(message)! };
}

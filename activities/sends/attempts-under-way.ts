/** Attempts under way: marks each as sending before it leaves, and records its outcome when the provider answers. */

import { setTimeout as delay } from 'node:timers/promises';
import type { PushRoute } from '../../connectors/push/contract.ts';
import { internalErrorOf, isAway } from '../../domain/core/internal-error.ts';
import type { JobClaim } from '../../domain/jobs/job.ts';
import { attemptOutcomeOf, WAITS_FOR } from '../../domain/sends/attempt.ts';
import type { PushOutcome } from '../../domain/sends/push.ts';
import { isTimedOut, type Tx, write } from '../../store/core/database.ts';
import { LOOK_UP_BY_KEY } from '../../store/core/look-up-by-key.ts';
import { type NewOutcome, markSending, putOffAttempts, recordOutcomes } from '../../store/sends/attempts.ts';
import { updateProviderRefusals } from '../../store/sends/push-providers.ts';
import { updateTokensGone } from '../../store/sends/send-targets.ts';
import { lockSend } from '../../store/sends/sends.ts';
import type { Dependencies } from '../dependencies.ts';
import { findBeyondLimit, type Attempt } from './plan-attempts.ts';

/** Outcomes that come within this time are written together, unless half of the attempts have theirs before. */
const GATHER_MS = 50;
/** How long the attempts of a portion may wait for their providers before other messages have their turn. */
const PORTION_MS = 2_000;
/** How long, and how often, outcomes are written again while Postgres is away. */
const WRITE_WITHIN_MS = 20_000;
const WRITE_AGAIN_MS = 200;
/** How often a send that waits for its providers checks for cancellation. */
const LOOK_MS = 500;
/** When attempts are due again whose provider took none for PORTION_MS. */
const PUT_OFF_MS = 5_000;
/** Maximum number of a step's attempts under way, over all providers and push services. */
const MAX_UNDER_WAY = 4_000;
/** Attempts marked as sending for each that a route takes at once: while some leave, the next are marked. */
const MARKED_PER_STREAM = 2;
/** Number of attempts marked on a route that took none of its last ones: these fail together, and hold up no others. */
const MARKED_OF_DOWN = 500;

type Parts = Pick<Dependencies, 'db' | 'log' | 'boundary' | 'draining'>;
/** `since`: when the route last took an attempt, or answered. */
type OnRoute = { sending: number; since: number };
type Routed = { attempt: Attempt; route: PushRoute };

export class AttemptsUnderWay {
  readonly #deps: Parts;
  readonly #claim: JobClaim;
  readonly #routes = new Map<string, OnRoute>();
  /** Routes whose last attempt did not leave. */
  readonly #down = new Set<string>();
  /** Number of marked attempts without a recorded outcome. */
  #sending = 0;
  #outcomes: (MadeAttempt & { key: string })[] = [];
  #isWriting = false;
  #writes = 0;
  #timer: NodeJS.Timeout | undefined;
  #failure: { error: unknown } | undefined;
  #wake: () => void = () => undefined;
  /** Ends the step with this error; for the next step the attempts under way are UNKNOWN. */
  readonly #fail = (error: unknown) => {
    this.#failure ??= { error };
  };

  constructor(deps: Parts, claim: JobClaim) {
    this.#deps = deps;
    this.#claim = claim;
  }

  /** True if every attempt that left has its outcome in the database. */
  get isEmpty(): boolean {
    return this.#sending === 0;
  }

  /**
   * Sends attempts as their providers take them. Returns once the last has left, the send is canceled, or others should
   * have their turn; attempts that have not left wait in the database. Returns false if no provider takes any.
   */
  async send(attempts: readonly Attempt[]): Promise<boolean> {
    const until = performance.now() + PORTION_MS;
    let left: readonly Routed[] = attempts.map((attempt) => ({
      attempt,
      route: attempt.provider.routeOf(attempt.target),
    }));
    if (left.length > 0 && left.every((routed) => this.#isStuck(keyOf(routed)))) {
      await this.#putOff(left);
      return false;
    }
    while (left.length > 0 && !this.#deps.draining.aborted) {
      const seen = this.#writes;
      const { next, rest } = this.#split(left);
      if (!(await this.#begin(next))) break;
      left = rest;
      if (left.length > 0 && performance.now() >= until) {
        await this.#putOff(left);
        break;
      }
      if (left.length > 0) await this.#change(LOOK_MS, seen);
    }
    return true;
  }

  /** Waits for the outcomes of all attempts that left, at most `ms`. */
  async settle(ms = Number.POSITIVE_INFINITY): Promise<void> {
    const until = performance.now() + ms;
    while (!this.isEmpty && performance.now() < until) await this.#change(Math.min(LOOK_MS, until - performance.now()));
    if (this.#failure) throw this.#failure.error;
  }

  #isStuck(key: string): boolean {
    const onRoute = this.#routes.get(key);
    return onRoute !== undefined && performance.now() - onRoute.since > PORTION_MS;
  }

  /** Returns which attempts may be marked now: on each route at most twice as many as it takes at once. */
  #split(left: readonly Routed[]): { next: Routed[]; rest: Routed[] } {
    const places = new Map<string, number>();
    const placesOf = (key: string, route: PushRoute) =>
      places.get(key) ?? Math.max(0, this.#markedAtOnce(key, route) - (this.#routes.get(key)?.sending ?? 0));
    const next: Routed[] = [];
    const rest: Routed[] = [];
    for (const routed of left) {
      const key = keyOf(routed);
      const free = placesOf(key, routed.route);
      const mayLeave = free > 0 && this.#sending + next.length < MAX_UNDER_WAY;
      places.set(key, mayLeave ? free - 1 : free);
      (mayLeave ? next : rest).push(routed);
    }
    return { next, rest };
  }

  #markedAtOnce(key: string, { streams }: PushRoute): number {
    const open = streams();
    return open === 0 && this.#down.has(key) ? MARKED_OF_DOWN : MARKED_PER_STREAM * Math.max(1, open);
  }

  /** Marks attempts within the limit as sending, and sends them. Returns false if the send is no longer ours. */
  async #begin(next: readonly Routed[]): Promise<boolean> {
    const { db, boundary } = this.#deps;
    const { entityId } = this.#claim;
    const marked = await write(
      db,
      async (tx) => {
        const send = await lockSend(tx, this.#claim, { isShared: true });
        if (!send || send.cancelRequestedAt !== null) return null;
        const beyond = await findBeyondLimit(
          tx,
          entityId,
          next.map(({ attempt }) => attempt),
        );
        await recordOutcomes(
          tx,
          entityId,
          Array.from(beyond, ({ id, campaignId }) => ({
            id,
            campaignId,
            code: 'MESSAGE_LIMIT' as const,
            details: null,
            providerMessageId: null,
            dueAt: null,
          })),
          'waiting',
        );
        return markSending(
          tx,
          entityId,
          next.flatMap(({ attempt }) => (beyond.has(attempt) ? [] : [attempt])),
        );
      },
      { settings: LOOK_UP_BY_KEY },
    );
    if (!marked) return false;
    boundary('send: marked');
    for (const routed of next) if (marked.has(routed.attempt.id)) this.#leave(routed).catch(this.#fail);
    return true;
  }

  async #leave(routed: Routed): Promise<void> {
    const key = keyOf(routed);
    const onRoute = this.#routes.get(key) ?? { sending: 0, since: 0 };
    this.#routes.set(key, onRoute);
    onRoute.sending += 1;
    onRoute.since = performance.now();
    this.#sending += 1;
    const sent = await sendAttempt(this.#deps, routed.attempt);
    onRoute.since = performance.now();
    if (sent.outcome.kind === 'not_sent') this.#down.add(key);
    else this.#down.delete(key);
    this.#outcomes.push({ ...sent, key });
    this.#writeSoon();
  }

  /** Records outcomes: at once if half of the attempts under way have theirs, else GATHER_MS after the first. */
  #writeSoon(): void {
    if (this.#isWriting || this.#outcomes.length === 0) return;
    const writeNow = () => {
      this.#writeOutcomes().catch(this.#fail);
    };
    if (this.#outcomes.length >= this.#sending / 2) writeNow();
    else this.#timer ??= setTimeout(writeNow, GATHER_MS);
  }

  async #writeOutcomes(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isWriting) return;
    const { boundary } = this.#deps;
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    this.#isWriting = true;
    try {
      boundary('send: sent');
      await this.#recordOutcomes(outcomes);
      boundary('send: settled');
    } catch (error) {
      this.#fail(error);
    }
    this.#isWriting = false;
    this.#writes += 1;
    this.#sending -= outcomes.length;
    for (const { key } of outcomes) this.#leaveRoute(key);
    this.#wake();
    this.#writeSoon();
  }

  /** Records outcomes, also if Postgres is away for a moment: otherwise they would become UNKNOWN. */
  async #recordOutcomes(outcomes: readonly MadeAttempt[]): Promise<void> {
    const until = performance.now() + WRITE_WITHIN_MS;
    for (;;) {
      try {
        return await write(this.#deps.db, (tx) => recordProviderOutcomes(tx, this.#claim.entityId, outcomes), {
          settings: LOOK_UP_BY_KEY,
        });
      } catch (error) {
        if (!(isAway(error) || isTimedOut(error)) || performance.now() > until) throw error;
        await delay(WRITE_AGAIN_MS);
      }
    }
  }

  #leaveRoute(key: string): void {
    const onRoute = this.#routes.get(key)!;
    onRoute.sending -= 1;
    if (onRoute.sending === 0) this.#routes.delete(key);
  }

  /** Resolves when outcomes were recorded since `seen`, or after `ms`. Throws the error of their recording. */
  async #change(ms: number, seen = this.#writes): Promise<void> {
    if (seen === this.#writes) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const timer = setTimeout(resolve, ms);
      await promise;
      clearTimeout(timer);
    }
    if (this.#failure) throw this.#failure.error;
  }

  /** Lets attempts wait whose route takes none at present, so that those on other routes go first. */
  async #putOff(left: readonly Routed[]): Promise<void> {
    const late = left.filter((routed) => this.#isStuck(keyOf(routed)));
    if (late.length === 0) return;
    const dueAt = new Date(Date.now() + PUT_OFF_MS);
    await write(
      this.#deps.db,
      (tx) =>
        putOffAttempts(
          tx,
          this.#claim.entityId,
          late.map(({ attempt: { id, campaignId, isPaced } }) => ({
            id,
            campaignId,
            dueAt,
            isPaced,
            details: WAITS_FOR.provider,
          })),
        ),
      { settings: LOOK_UP_BY_KEY },
    );
  }
}

/** Returns the key of an app's route: each app has connections of its own. */
function keyOf({ attempt: { appId }, route: { key } }: Routed): string {
  return `${appId} ${key}`;
}

type MadeAttempt = { attempt: Attempt; outcome: PushOutcome };

/** Sends an attempt that is marked as sending. */
async function sendAttempt({ log }: Pick<Dependencies, 'log'>, attempt: Attempt): Promise<MadeAttempt> {
  try {
    return { attempt, outcome: await attempt.provider.send(attempt.target, attempt.message) };
  } catch (error) {
    // An internal error. The push may have left, so its attempt becomes UNKNOWN; the others keep their outcomes.
    log.error({ attempt: attempt.id, provider: attempt.provider.name, ...internalErrorOf(error) }, 'a push failed');
    return {
      attempt,
      outcome: { kind: 'unknown', reason: 'an error of Millrace, which its log tells of under this attempt' },
    };
  }
}

/** Records the outcomes of attempts, refusals of providers, and tokens that are no longer valid. */
async function recordProviderOutcomes(tx: Tx, entityId: number, sent: readonly MadeAttempt[]): Promise<void> {
  const now = new Date();
  await recordOutcomes(
    tx,
    entityId,
    sent.map(({ attempt: { id, campaignId, tries, expiresAt }, outcome }): NewOutcome => ({
      id,
      campaignId,
      ...attemptOutcomeOf(outcome, { tries, expiresAt, now }),
    })),
  );
  await updateProviderRefusals(
    tx,
    entityId,
    sent.flatMap(({ attempt: { appId, provider }, outcome }) => {
      if (outcome.kind !== 'sent' && outcome.kind !== 'refused') return [];
      return [{ appId, provider: provider.name, code: outcome.kind === 'sent' ? null : outcome.code }];
    }),
  );
  await updateTokensGone(
    tx,
    entityId,
    sent.flatMap(({ attempt: { appId, deviceId, token }, outcome }) =>
      outcome.kind === 'gone' ? [{ appId, deviceId, token, since: outcome.since }] : [],
    ),
  );
}

/** The list of an app's last calls (`GET /api/apps/<id>/live`): collects calls, and writes them once a second. */

import { internalErrorOf } from '../../domain/core/internal-error.ts';
import { SharedBudget } from '../../domain/core/semaphore.ts';
import { type Fields, fieldsOf, isAbsent, isNoDevice, textOrNumber } from '../../domain/tracking/call-fields.ts';
import { type Database, write } from '../../store/core/database.ts';
import type { Secrets } from '../../store/core/secrets.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';
import { insertLiveCalls, type LiveCall, MAX_LIVE_CALLS } from '../../store/tracking/call-reports.ts';
import type { TrackingTarget } from '../../store/tracking/tracking-target.ts';
import type { RequestOutcome, CallRequest } from './write-calls.ts';
import { isObject } from '../../domain/json/exact-json.ts';
import { shorten } from '../../domain/text/text-limits.ts';

const WRITE_EVERY_MS = 1_000;
/** Maximum number of calls of all entities in a second, shared out by entity. */
const MAX_SHOWN = 5_000;
const MAX_CHARS = 2_000;

type LiveDependencies = { db: Database; secrets: Secrets; log: { warn(fields: object, message: string): void } };
type Shown = { call: string; people: Person[] };
type Waiting = LiveCall & { people: Person[] };

/** Writes the first calls of each key once a second. Requests don't wait; a failed write only leaves calls out. */
export class LiveCalls {
  readonly #deps: LiveDependencies;
  #byEntity = new Map<number, Waiting[]>();
  #byTarget = new Map<TrackingTarget, number>();
  #budget = new SharedBudget(MAX_SHOWN);
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: LiveDependencies) {
    this.#deps = deps;
  }

  select(target: TrackingTarget, calls: readonly unknown[], context: Fields): Shown[] {
    const taken = this.#byTarget.get(target) ?? 0;
    const room = Math.min(MAX_LIVE_CALLS - taken, this.#budget.left(target.entityId), calls.length);
    if (room <= 0) return [];
    this.#byTarget.set(target, taken + room);
    this.#budget.take(target.entityId, room);
    this.#writeSoon();
    return calls
      .slice(0, room)
      .map((call) => ({ call: rawOf(call, context, MAX_CHARS), people: peopleIn(call, context) }));
  }

  /** Adds outcomes. The call may come after the write of its calls' second. */
  add(
    { entityId }: TrackingTarget,
    shown: readonly Shown[],
    { calls, refused }: CallRequest,
    taken: RequestOutcome,
  ): void {
    if (shown.length === 0) return;
    const receivedAt = new Date();
    const appOf = new Map([...calls, ...refused].map(({ index, appId }) => [index, appId]));
    const callOf = new Map(calls.map((call) => [call.index, call]));
    const refusalOf = new Map(taken.refused.map((refusal) => [refusal.index, refusal]));
    const repeated = new Set(taken.repeated);
    const waiting = this.#byEntity.get(entityId) ?? [];
    this.#byEntity.set(entityId, waiting);
    this.#writeSoon();
    for (const [index, { call, people }] of shown.entries()) {
      const refusal = refusalOf.get(index);
      waiting.push({
        appId: appOf.get(index) ?? null,
        receivedAt,
        call,
        people,
        outcome: refusal ? 'refused' : repeated.has(index) ? 'duplicate' : 'accepted',
        code: refusal?.code ?? null,
        message: refusal?.message ?? callOf.get(index)?.note ?? null,
        messageId: refusal ? refusal.messageId : (callOf.get(index)?.messageId ?? null),
      });
    }
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#write();
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => void this.#write(), WRITE_EVERY_MS).unref();
  }

  async #write(): Promise<void> {
    const { db, secrets, log } = this.#deps;
    const byEntity = this.#byEntity;
    [this.#byEntity, this.#byTarget, this.#budget, this.#timer] = [
      new Map(),
      new Map(),
      new SharedBudget(MAX_SHOWN),
      undefined,
    ];
    for (const [entityId, calls] of byEntity) {
      await write(db, (tx) => insertLiveCalls(tx, secrets, entityId, calls)).catch((error: unknown) => {
        log.warn({ entityId, error: internalErrorOf(error) }, 'the last calls could not be shown');
      });
    }
  }
}

/** Returns a call as JSON, cut to `maxChars`. Ids come first, so that an erasure finds a cut call, too. */
export function rawOf(given: unknown, beneath: Fields, maxChars: number): string {
  if (!isObject(given)) return shorten(JSON.stringify(given), maxChars);
  const { userId, anonymousId, previousId, context, ...others } = given;
  const raw = {
    userId,
    anonymousId,
    previousId,
    context: deviceFirst(context, beneath),
    ...others,
    writeKey: undefined,
  };
  return shorten(JSON.stringify(raw), maxChars);
}

function deviceFirst(context: unknown, beneath: Fields): unknown {
  const id = deviceIdIn(context) ?? deviceIdIn(beneath);
  const { device: given, ...others } = fieldsOf(context) ?? { device: context };
  const device = fieldsOf(given);
  return isAbsent(id) || device === undefined ? context : { device: { id, ...device }, ...others };
}

/** Returns the ids of a call, which may be malformed (as `readSubject`). */
export function peopleIn(given: unknown, beneath: Fields): Person[] {
  if (!isObject(given)) return [];
  const { userId, anonymousId, previousId, context } = given;
  const deviceId = [deviceIdIn(context), deviceIdIn(beneath), anonymousId].find((id) => !isNoDevice(id));
  const ids = [
    ['user_id', userId],
    ['user_id', previousId],
    ['device_id', deviceId],
  ] as const;
  return ids.flatMap(([customerType, given]): Person[] => {
    const customerId = textOrNumber(given);
    return customerId === undefined || customerId === '' ? [] : [{ customerType, customerId }];
  });
}

function deviceIdIn(context: unknown): unknown {
  return fieldsOf(fieldsOf(context)?.device)?.id;
}

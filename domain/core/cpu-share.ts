/** Shares a machine's cores out between entities. */
import type { Semaphore } from './semaphore.ts';

/** How long an entity counts as present after a call. */
export const PRESENT_MS = 1_500;
const LOOK_MS = 100;

/** Milliseconds that never run backwards, and a timer. */
export type Clock = { now(): number; later(ms: number, callback: () => void): void };

export type PortionKind = {
  name: string;
  /** How long a portion counts: after that it waits for an outside system, or would hold up its own entity. */
  countedMs: number;
  /** True if a caller waits for it: it then goes before other kinds, in every second turn at most. */
  isUrgent?: boolean;
};

type Waiting = { kind: PortionKind; begin(): void };
type Entity = {
  running: Set<{ until: number }>;
  waiting: Waiting[];
  /** The number of each kind's last turn: kinds take turns, so that erasures do not wait for a whole import. */
  turns: Map<string, number>;
  isUrgentLast: boolean;
};

/**
 * Shares a machine's cores: an entity alone has no limit. While n entities compute or wait, each has at most ⌈cores /
 * n⌉ portions; while others only call, one core stays free for them.
 */
export class CpuShare {
  readonly #cores: number;
  readonly #clock: Clock;
  readonly #entities = new Map<number, Entity>();
  readonly #called = new Map<number, number>();
  #turn = 0;
  #looks = false;

  constructor(cores: number, clock: Clock) {
    this.#cores = cores;
    this.#clock = clock;
  }

  /** Notes a call of an entity: from now on one core stays free of the long work of others. */
  noteCall(entityId: number): void {
    const now = this.#clock.now();
    this.#called.delete(entityId); // the map keeps the order of the calls
    this.#called.set(entityId, now);
    for (const [id, at] of this.#called) {
      if (now - at < PRESENT_MS) return;
      this.#called.delete(id);
    }
  }

  /** Returns a semaphore whose portions, once they have a place, also wait for their entity's share. */
  within(kind: PortionKind, take: Semaphore): Semaphore {
    return async (entityId, onWait, signal, member) => {
      const leave = await take(entityId, onWait, signal, member);
      try {
        const end = await this.take(entityId, kind, onWait, signal);
        return () => {
          end();
          leave();
        };
      } catch (error) {
        leave();
        throw error;
      }
    };
  }

  /**
   * Begins a portion once the share allows it; the result ends it. Calls `onWait` if it must wait. Throws an aborted
   * signal's reason.
   */
  async take(
    entityId: number,
    kind: PortionKind,
    onWait?: () => Promise<void>,
    signal?: AbortSignal,
  ): Promise<() => void> {
    signal?.throwIfAborted();
    const entity: Entity = this.#entities.get(entityId) ?? {
      running: new Set(),
      waiting: [],
      turns: new Map(),
      isUrgentLast: false,
    };
    this.#entities.set(entityId, entity);
    if (entity.waiting.length === 0 && this.#mayBegin(entityId, entity)) return this.#begin(entityId, entity, kind);
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const waiting = { kind, begin: () => resolve(this.#begin(entityId, entity, kind)) };
    const onAbort = () => {
      entity.waiting = entity.waiting.filter((one) => one !== waiting);
      this.#settle(entityId, entity);
      reject(signal!.reason as Error);
    };
    entity.waiting.push(waiting);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#lookLater();
    void onWait?.().catch(() => {}); // it only says that the portion waits
    return promise.finally(() => signal?.removeEventListener('abort', onAbort));
  }

  #begin(entityId: number, entity: Entity, kind: PortionKind): () => void {
    const portion = { until: this.#clock.now() + kind.countedMs };
    entity.running.add(portion);
    entity.turns.set(kind.name, (this.#turn += 1));
    entity.isUrgentLast = kind.isUrgent ?? false;
    return () => {
      if (entity.running.delete(portion)) this.#settle(entityId, entity);
    };
  }

  /** Removes an entity without work, and begins waiting portions of others. */
  #settle(entityId: number, entity: Entity): void {
    if (entity.running.size === 0 && entity.waiting.length === 0) this.#entities.delete(entityId);
    this.#beginWaiting();
  }

  #beginWaiting(): void {
    for (const [entityId, entity] of this.#entities) {
      while (entity.waiting.length > 0 && this.#mayBegin(entityId, entity)) {
        const next = nextOf(entity);
        entity.waiting = entity.waiting.filter((one) => one !== next);
        next.begin();
      }
    }
  }

  #mayBegin(entityId: number, entity: Entity): boolean {
    const now = this.#clock.now();
    return countedOf(entity, now) < this.#shareOf(entityId, now);
  }

  #shareOf(entityId: number, now: number): number {
    const others = [...this.#entities].filter(
      ([id, entity]) => id !== entityId && (entity.waiting.length > 0 || countedOf(entity, now) > 0),
    ).length;
    if (others > 0) return Math.ceil(this.#cores / (others + 1));
    const isCalled = [...this.#called].some(([id, at]) => id !== entityId && now - at < PRESENT_MS);
    return isCalled ? Math.max(1, this.#cores - 1) : Infinity;
  }

  /** Looks again later: time alone may free a share, when portions stop counting or callers leave. */
  #lookLater(): void {
    if (this.#looks) return;
    this.#looks = true;
    this.#clock.later(LOOK_MS, () => {
      this.#looks = false;
      this.#beginWaiting();
      if ([...this.#entities.values()].some(({ waiting }) => waiting.length > 0)) this.#lookLater();
    });
  }
}

function countedOf({ running }: Entity, now: number): number {
  return [...running].filter(({ until }) => until > now).length;
}

function nextOf({ waiting, turns, isUrgentLast }: Entity): Waiting {
  const turnOf = ({ kind }: Waiting) => (kind.isUrgent && !isUrgentLast ? -1 : (turns.get(kind.name) ?? 0));
  return waiting.reduce((first, one) => (turnOf(one) < turnOf(first) ? one : first));
}

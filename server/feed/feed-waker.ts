/** Starts the feeds of entities after new requests. */
import { internalErrorOf } from '../../domain/core/internal-error.ts';

const WAKE_EVERY_MS = 1_000;

type WakerDependencies = {
  flows: { wakeFeed(entityId: number): Promise<void> };
  log: { warn(fields: object, message: string): void };
};
type Rest = { timer: NodeJS.Timeout; isAsked: boolean };

/** Wakes each entity's feed at most once a second, the first time at once. The sweep repairs a failure. */
export class FeedWaker {
  readonly #deps: WakerDependencies;
  readonly #resting = new Map<number, Rest>();

  constructor(deps: WakerDependencies) {
    this.#deps = deps;
  }

  wake(entityId: number): void {
    const rest = this.#resting.get(entityId);
    if (rest) rest.isAsked = true;
    else this.#signal(entityId);
  }

  close(): void {
    for (const { timer } of this.#resting.values()) clearTimeout(timer);
    this.#resting.clear();
  }

  #signal(entityId: number): void {
    const timer = setTimeout(() => this.#endRest(entityId), WAKE_EVERY_MS).unref();
    this.#resting.set(entityId, { timer, isAsked: false });
    this.#deps.flows.wakeFeed(entityId).catch((error: unknown) => {
      this.#deps.log.warn({ entityId, error: internalErrorOf(error) }, 'a feed could not be woken yet');
    });
  }

  #endRest(entityId: number): void {
    const isAsked = this.#resting.get(entityId)?.isAsked;
    this.#resting.delete(entityId);
    if (isAsked) this.#signal(entityId);
  }
}

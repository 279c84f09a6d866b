/** Calls of connectors within requests: limits their time, and their number by entity. */
import type { FastifyBaseLogger } from 'fastify';
import type { ConnectorContext, WaysOut } from '../../connectors/core/contract.ts';
import { redacted } from '../../connectors/core/redacted.ts';
import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import { openPlaces } from '../../domain/core/limits.ts';
import { Refusal } from '../../domain/core/refusal.ts';
import type { Semaphore } from '../../domain/core/semaphore.ts';
import type { Scratch } from '../../store/core/scratch.ts';
import { refuseWait } from '../http/refuse-wait.ts';

const RETRY_SECONDS = 5;
const MAX_WAIT_MS = 10_000;

/** A call of a connector: its caller, its time limit, and secrets to redact from its messages. */
export type ConnectorCall = { entityId: number; withinMs: number; log: FastifyBaseLogger; secretSettings: object };

export type CallOutcome<T> = { ok: true; value: T } | { ok: false; refusal: Refusal };

export class ConnectorCalls {
  readonly #outside: WaysOut;
  readonly #scratch: Pick<Scratch, 'folderOf'>;
  readonly #take: Semaphore;
  readonly #underWay = new Set<AbortController>();

  constructor(outside: WaysOut, scratch: Pick<Scratch, 'folderOf'>, take = openPlaces('connectorCalls')) {
    this.#outside = outside;
    this.#scratch = scratch;
    this.#take = take;
  }

  /** Refuses with 429 or 503 if the entity finds no place. A connector's refusal or timeout is an outcome. */
  async run<T>(call: ConnectorCall, work: (context: ConnectorContext) => Promise<T>): Promise<CallOutcome<T>> {
    const { entityId, withinMs, log, secretSettings } = call;
    const give = await this.#take(entityId, undefined, AbortSignal.timeout(MAX_WAIT_MS)).catch((error: unknown) =>
      refuseWait(error, 'checks'),
    );
    const ending = new AbortController();
    this.#underWay.add(ending);
    const timer = setTimeout(() => ending.abort(tooSlow(withinMs)), withinMs);
    const isAborted = aborted(ending.signal);
    const fetch = this.#outside.fetch.kept();
    const say = (line: string) => log.debug({ connector: redacted(line, secretSettings) }, 'a connector says');
    // A call that ignores the signal keeps its place until it ends: others would pile up behind it.
    const working = (async () => {
      try {
        const scratch = this.#scratch.folderOf(entityId);
        return await work({ ...this.#outside, fetch, scratch, signal: ending.signal, log: say });
      } finally {
        give();
        await fetch.close();
      }
    })();
    try {
      return { ok: true, value: await Promise.race([working, isAborted]) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const { http, status, message, extra } = error;
      return { ok: false, refusal: new Refusal(http, status, redacted(message, secretSettings), extra) };
    } finally {
      clearTimeout(timer);
      this.#underWay.delete(ending);
      working.catch(() => {}); // what comes too late
    }
  }

  close(): void {
    for (const ending of this.#underWay) {
      ending.abort(
        sourceRefusal('source_unavailable', 'The server is stopping: try again in a moment', {
          retry_after: RETRY_SECONDS,
        }),
      );
    }
  }
}

function tooSlow(withinMs: number): Refusal {
  return sourceRefusal(
    'source_unavailable',
    `No answer came within ${withinMs / 1_000} s: check the address, and whether it is busy`,
  );
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the reason is the abort's own refusal
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

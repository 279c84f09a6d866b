import { setTimeout as delay } from 'node:timers/promises';
import { BROKEN_OFF, UNREACHABLE } from '../../api/client.ts';
import { Refusal } from '../../domain/core/refusal.ts';

const AWAY = { everyMs: 1_000, maxMs: 10 * 60_000 };

/** Asks again while the server is away, as during a restart. Throws after ten minutes. */
export async function untilAnswered<T>(
  ask: () => Promise<T>,
  say: (text: string) => void,
  { everyMs, maxMs } = AWAY,
): Promise<T> {
  for (let awaySince: number | null = null; ; await delay(everyMs)) {
    try {
      const answer = await ask();
      if (awaySince !== null) say('The server answers again.');
      return answer;
    } catch (error) {
      if (!isAway(error) || (awaySince !== null && performance.now() - awaySince >= maxMs)) throw error;
      if (awaySince === null)
        say(`The server does not answer. Asking again for ${maxMs / 60_000} minutes; Ctrl-C ends this.`);
      awaySince ??= performance.now();
    }
  }
}

/** Returns whether the server is away. A proxy before it answers 502 to 504. */
function isAway(error: unknown): boolean {
  return (
    error instanceof Refusal &&
    (error.status === UNREACHABLE || error.status === BROKEN_OFF || (error.http >= 502 && error.http <= 504))
  );
}

import { shorten } from '../../domain/core/text-limits.ts';
import type { Message } from '../commands/command-message.ts';
import type { NamedCommand } from '../commands/command-settings.ts';
import type { ConnectorContext } from '../core/contract.ts';
import { isObject } from '../core/json-record.ts';
import { sourceRefusal } from '../core/source-refusal.ts';

const LOGGED_LINES = 1_000;
const LOGGED_LETTERS = 2_000;
const LEVELS = new Set(['FATAL', 'ERROR', 'WARN', 'INFO']);

/** What an Airbyte source says about itself: its LOG and TRACE messages. */
export type SourceVoice = {
  /** Passes on a LOG, remembers a TRACE; others it leaves alone. */
  hear(message: Message): void;
  /** A line for the run's log. */
  say(text: string): void;
  /** Refuses where the source has told of an error. */
  throwFailure(): void;
};

export function sourceVoice({ name, redact }: NamedCommand, { log, signal }: ConnectorContext): SourceVoice {
  let lines = 0;
  let failure: { kind: unknown; words: string } | undefined;
  let quietUntil: number | undefined;

  const say = (text: string) => {
    lines += 1;
    if (lines <= LOGGED_LINES) log(`${name}: ${shorten(redact(text.trim()), LOGGED_LETTERS)}`);
    else if (lines === LOGGED_LINES + 1) log(`${name}: and more lines, left out`);
  };

  const hearTrace = (trace: Record<string, unknown>) => {
    const { error, stream_status: status } = trace;
    if (trace['type'] === 'ERROR' && isObject(error)) {
      const { message, failure_type: kind } = error;
      // The stack and the internal message may hold records.
      failure = { kind, words: shorten(redact(typeof message === 'string' ? message : 'it does not say why'), 500) };
    }
    if (trace['type'] === 'STREAM_STATUS' && isObject(status)) quietUntil = resetOf(status) ?? quietUntil;
  };

  return {
    say,
    hear({ type, log: entry, trace }) {
      if (type === 'TRACE' && isObject(trace)) hearTrace(trace);
      if (type !== 'LOG' || !isObject(entry) || typeof entry['message'] !== 'string') return;
      if (typeof entry['level'] === 'string' && LEVELS.has(entry['level'])) say(entry['message']);
    },
    throwFailure() {
      if (!failure || signal.aborted) return;
      const message = `${name} failed: ${failure.words}`;
      if (failure.kind === 'config_error') throw sourceRefusal('source_refused', message);
      const seconds = quietUntil === undefined ? 0 : Math.ceil((quietUntil - Date.now()) / 1_000);
      throw sourceRefusal('source_unavailable', message, seconds > 0 ? { retry_after: seconds } : {});
    },
  };
}

/** When the outside system counts anew, in ms since 1970, where the source waits for that. */
function resetOf(status: Record<string, unknown>): number | undefined {
  const reasons = Array.isArray(status['reasons']) ? (status['reasons'] as unknown[]) : [];
  for (const reason of reasons) {
    const limited = isObject(reason) && reason['type'] === 'RATE_LIMITED' ? reason['rate_limited'] : undefined;
    if (isObject(limited) && typeof limited['quota_reset'] === 'number') return limited['quota_reset'];
  }
  return undefined;
}

/** Shows the progress of a job until it has ended. */
import { setTimeout as delay } from 'node:timers/promises';
import progress, { type GenericFormatter, SingleBar } from 'cli-progress';
import { Refusal, refuse } from '../../domain/core/refusal.ts';
import type { CommandContext } from '../core/command-context.ts';
import { untilAnswered } from '../core/until-answered.ts';

export type Followed<T> = {
  view(): Promise<T>;
  hasEnded(now: T): boolean;
  shown(now: T): Shown;
  name: string;
  toFollow: string;
  /** Null if no command ends it. */
  toCancel: string | null;
};

export type Shown = {
  /** A format of cli-progress; its variables are members of this value. */
  phase: string;
  value: number;
  total: number;
  [member: string]: string | number;
};

const FIRST_POLL_MS = 250;
const LAST_POLL_MS = 2_000;
/** Exit status of a shell for a command that Ctrl-C ended. */
const INTERRUPTED = 130;

const format: GenericFormatter = (options, params, payload: { phase: string }) =>
  progress.Format.Formatter({ ...options, format: payload.phase }, params, payload);

/** Shows progress until the end; nothing with `--json`. Ctrl-C ends the display, not the job. */
export async function follow<T>(
  { stderr, console, terminal: { command }, isJson }: CommandContext,
  followed: Followed<T>,
): Promise<T> {
  const { name, toFollow, toCancel } = followed;
  const bar = isJson
    ? null
    : new SingleBar({ format, stream: stderr, gracefulExit: false, noTTYOutput: true, notTTYSchedule: 5_000 });
  const cancelHint = toCancel === null ? '' : `; to cancel it: ${command} ${toCancel}`;
  const leave = () => {
    bar?.stop();
    console.error(`The ${name} goes on. To follow it: ${command} ${toFollow}${cancelHint}`);
    process.exit(INTERRUPTED);
  };
  process.on('SIGINT', leave); // not `once`: a second signal would end the process before it has printed its message
  try {
    return await watch(followed, bar, (text) => console.error(text));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return refuse(
      error.http,
      error.status,
      `${error.message}\nThe ${name} is not ended by this. To follow it: ${command} ${toFollow}`,
    );
  } finally {
    process.off('SIGINT', leave);
    bar?.stop();
  }
}

async function watch<T>(
  { view, hasEnded, shown }: Followed<T>,
  bar: SingleBar | null,
  say: (text: string) => void,
): Promise<T> {
  for (let pollMs = FIRST_POLL_MS; ; pollMs = Math.min(pollMs * 1.1, LAST_POLL_MS)) {
    const now = await untilAnswered(view, say);
    const { value, total, ...payload } = shown(now);
    if (bar?.isActive) bar.setTotal(total);
    else bar?.start(total, 0, payload);
    bar?.update(value, payload);
    if (hasEnded(now)) return now;
    await delay(pollMs);
  }
}

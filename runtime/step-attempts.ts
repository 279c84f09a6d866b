import { randomInt } from 'node:crypto';
import type { Log } from '../activities/dependencies.ts';
import { internalErrorOf } from '../domain/core/internal-error.ts';
import { countDeaths, judgeAttempt } from '../domain/jobs/step-attempts.ts';
import type { Database, Tx } from '../store/core/database.ts';
import {
  deleteAttempts,
  findAttempt,
  type JobStep,
  lockProcess,
  lockTurn,
  unlockTurn,
  updateAttemptEnded,
  upsertAttempt,
} from '../store/jobs/step-attempts.ts';

/**
 * Finds steps of jobs that kill their process (law 11). A step that succeeds at its first attempt costs nothing; the
 * erasure of a location costs one look.
 */
export type StepAttempts = {
  /** `waits`: another suspected step has its turn. */
  begin(step: JobStep): Promise<'runs' | 'waits' | 'given up'>;
  ended(step: JobStep, outcome: 'done' | 'failed' | 'given up'): Promise<void>;
  /** Gives the session back, once this process begins no more steps. */
  close(): Promise<void>;
};

/** A step that lives so long in its turn leaves it to the next one. */
const TURN_MS = 5 * 60_000;
const MAX_PROCESS = 2 ** 31 - 1;

/** Where the database is away, attempts are not noted: a step goes on, and no death is counted. */
export function stepAttempts(db: Database, log: Log, maxDeaths: number): StepAttempts {
  const process = randomInt(1, MAX_PROCESS);
  const presence = new Presence(db, process);
  /** Attempts that are noted, by the numbers that they are noted under. */
  const running = new Map<string, number>();
  const unlessAway = <T>(away: T, work: () => Promise<T>) =>
    work().catch((error: unknown) => {
      log.warn({ ...internalErrorOf(error) }, 'attempts at steps are not noted now');
      return away;
    });
  const leave = (step: JobStep) => {
    running.delete(keyOf(step));
    return presence.leave(keyOf(step), running.size === 0);
  };
  return {
    close: () => unlessAway(undefined, () => presence.close()),
    begin: (step) =>
      isNotNoted(step)
        ? Promise.resolve('runs')
        : unlessAway('runs', async () => {
            const { noted, hasDied, progress } = await findAttempt(db, step, process);
            if (step.attempt === 1 && !noted) return 'runs';
            // Temporal counts the attempts at a location anew with each activity.
            const attempt = step.location !== undefined && noted ? noted.attempt + 1 : step.attempt;
            const deaths = countDeaths(noted, { attempt, progress, hasDied });
            const verdict = judgeAttempt(noted, deaths, maxDeaths);
            if (verdict === 'given up') return verdict;
            running.set(keyOf(step), attempt);
            const isAlone = verdict === 'runs alone';
            const mayRun = await presence.open(isAlone ? keyOf(step) : null);
            await upsertAttempt(db, step, {
              attempt,
              process: mayRun ? process : null,
              isAlone: mayRun && isAlone,
              progress,
              deaths,
            });
            if (!mayRun) await leave(step);
            return mayRun ? 'runs' : 'waits';
          }),
    ended: (step, outcome) =>
      unlessAway(undefined, async () => {
        const attempt = running.get(keyOf(step));
        try {
          if (outcome === 'failed') await updateAttemptEnded(db, { ...step, attempt: attempt ?? step.attempt });
          else if (step.attempt > 1 || attempt !== undefined || outcome === 'given up') await deleteAttempts(db, step);
        } finally {
          if (attempt !== undefined) await leave(step);
        }
      }),
  };
}

/** A first attempt, which no earlier one can have died at. */
function isNotNoted({ attempt, location }: JobStep): boolean {
  return attempt === 1 && location === undefined;
}

function keyOf({ entityId, kind, job, activity, attempt }: JobStep): string {
  return JSON.stringify([entityId, kind, job, activity, attempt]);
}

/**
 * The session by which others see that this process lives, while it has suspected steps; and the turn of one of them.
 */
class Presence {
  readonly #db: Database;
  readonly #process: number;
  #session: Promise<Tx> | null = null;
  #turn: { step: string; timer: NodeJS.Timeout } | null = null;

  constructor(db: Database, process: number) {
    this.#db = db;
    this.#process = process;
  }

  /** Opens the session, if it is not open; `alone`: the step that takes the turn. False: another step has it. */
  async open(alone: string | null): Promise<boolean> {
    const session = await (this.#session ??= this.#connect());
    if (alone === null) return true;
    if (this.#turn) return false;
    const timer = setTimeout(() => void this.#endTurn().catch(() => {}), TURN_MS);
    timer.unref();
    this.#turn = { step: alone, timer };
    const isTaken = await lockTurn(session);
    if (!isTaken) this.#forgetTurn();
    return isTaken;
  }

  async leave(step: string, isLast: boolean): Promise<void> {
    if (isLast) await this.close();
    else if (this.#turn?.step === step) await this.#endTurn();
  }

  async close(): Promise<void> {
    const session = this.#session;
    this.#forget(); // before any other step begins
    (await session)?.release(true); // its locks go with it
  }

  async #endTurn(): Promise<void> {
    this.#forgetTurn();
    if (this.#session) await unlockTurn(await this.#session);
  }

  #forgetTurn(): void {
    clearTimeout(this.#turn?.timer);
    this.#turn = null;
  }

  #forget(): void {
    this.#session = null;
    this.#forgetTurn();
  }

  async #connect(): Promise<Tx> {
    let session: Tx | undefined;
    try {
      session = await this.#db.connect();
      const lost = session;
      session.once('error', () => {
        this.#forget();
        lost.release(true);
      });
      await lockProcess(session, this.#process);
      return session;
    } catch (error) {
      this.#forget();
      session?.release(true);
      throw error;
    }
  }
}

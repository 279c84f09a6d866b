import { Context } from '@temporalio/activity';

const EVERY_MS = 1_000;

/** Heartbeats each second while `work` runs, so that a lost worker is noticed within the step's heartbeat timeout. */
export async function heartbeating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), EVERY_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

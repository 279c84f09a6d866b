import { Context } from '@temporalio/activity';

/** Of the step's timeout, ms, between two of them. */
const DEFAULT_TIMEOUT_MS = 5_000;
const EVERY = 0.2;

/** Heartbeats while `work` runs, each second where the step's timeout is 5 s, so that a lost worker is noticed within that time. */
export async function heartbeating<T>(work: () => Promise<T>): Promise<T> {
  const context = Context.current();
  const timer = setInterval(() => context.heartbeat(), (context.info.heartbeatTimeoutMs ?? DEFAULT_TIMEOUT_MS) * EVERY);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

import type { JobStep } from '../store/jobs/step-attempts.ts';

/**
 * Finds steps of jobs that kill their process (law 11). A step that succeeds at its first attempt costs nothing; the
 * erasure of a location costs one query.
 */
export type StepAttempts = {
  /** `waits`: another suspected step is running. */
  begin(step: JobStep): Promise<'runs' | 'waits' | 'given up'>;
  ended(step: JobStep, outcome: 'done' | 'failed' | 'given up'): Promise<void>;
  /** Closes the session, once this process begins no more steps. */
  close(): Promise<void>;
};

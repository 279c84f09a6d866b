import type { JobStep } from '../store/jobs/step-attempts.ts';

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

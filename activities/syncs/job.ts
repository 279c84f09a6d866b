import type { ConnectorContext } from '../../connectors/core/contract.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import type { StepScope } from '../jobs/step-scope.ts';
import type { OpenConnection } from './open-connection.ts';

/** A run and its sync, as they were when the step began. */
export type SyncJob = { run: SyncRun; sync: Sync; key: JobKey };

/** Open connections of a run; `destination` is null for attributes. */
export type SyncEnds = { source: OpenConnection; destination: OpenConnection | null };

/** A step's access to its run and to outside systems, with the run's log. */
export type RunScope = Omit<StepScope, 'close'> & {
  context: ConnectorContext;
  log(line: string): void;
  /** Ends the scope, and writes the remaining log lines. */
  close(): Promise<void>;
};

import type { ConnectorContext } from '../../connectors/core/contract.ts';
import { redacted } from '../../connectors/core/redacted.ts';
import type { JobKey } from '../../domain/jobs/job.ts';
import { isJobCurrent } from '../../store/jobs/jobs.ts';
import { countLogLines, insertRedactedLogLines, LOG_LINES } from '../../store/syncs/sync-log.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { SyncRun } from '../../store/syncs/sync-run-record.ts';
import type { Dependencies } from '../dependencies.ts';
import { openStepScope } from '../jobs/step-scope.ts';
import type { OpenConnection } from './open-connection.ts';

/** A run with its sync, as they stood when a step began. */
export type SyncJob = { run: SyncRun; sync: Sync; key: JobKey };

/** Outside systems of a run. */
export type SyncEnds = { source: OpenConnection; destination: OpenConnection | null };

/** The secret settings of a run's connections, one of which a connector may have quoted. */
export function secretsOf(ends: SyncEnds | null) {
  return [ends?.source.secretSettings ?? {}, ends?.destination?.secretSettings ?? {}];
}

export type RunScope = Awaited<ReturnType<typeof openScope>>;

/** Opens the scope of a step that ends with its process, too; writes the run's log each second. */
export async function openScope(deps: Dependencies, { key, run }: SyncJob, ends: SyncEnds) {
  const log = await openLog(deps, run);
  const scope = openStepScope(() => isJobCurrent(deps.db, 'sync', key), [deps.draining], log.write);
  const secretSettings = secretsOf(ends);
  const say = (line: string) => log.add(redacted(line, secretSettings));
  const context: ConnectorContext = {
    ...deps.outside,
    scratch: deps.scratch.folderOf(key.entityId),
    signal: scope.signal,
    log: say,
  };
  return {
    ...scope,
    context,
    log: say,
    /** Writes the lines that are left. */
    async close() {
      scope.close();
      await log.write();
    },
  };
}

/** Lines that could not be written are let go: a run does not fail for its log. */
async function openLog({ db, secrets }: Dependencies, { entityId, id }: SyncJob['run']) {
  let room = LOG_LINES - (await countLogLines(db, entityId, id));
  let lines: string[] = [];
  return {
    add(line: string): void {
      if (room > 1) lines.push(line);
      if (room === 1) lines.push(`(a run keeps ${LOG_LINES} lines; what follows is left out)`);
      room -= 1;
    },
    async write(): Promise<void> {
      const some = lines;
      lines = [];
      if (some.length > 0) await insertRedactedLogLines({ db, secrets }, entityId, id, some).catch(() => {});
    },
  };
}

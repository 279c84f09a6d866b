import { Context } from '@temporalio/activity';
import type { ConnectorContext } from '../../connectors/core/contract.ts';
import { redacted } from '../../connectors/core/redacted.ts';
import { JobGone } from '../../domain/jobs/job.ts';
import { isJobCurrent } from '../../store/jobs/jobs.ts';
import { countLogLines, insertRedactedLogLines, LOG_LINES } from '../../store/syncs/sync-log.ts';
import type { Dependencies } from '../dependencies.ts';
import type { SyncEnds, SyncJob } from './job.ts';

const LOOK_EVERY_MS = 1_000;

/** What a step of a run has for as long as it lasts. */
export type RunScope = {
  context: ConnectorContext;
  /** Throws once the step is to end. */
  throwIfEnding(): void;
  /** Ends what the step has begun outside: nobody waits for it any more. */
  end(): void;
  log(line: string): void;
  /** Writes the lines that are left. */
  close(): Promise<void>;
};

/**
 * Ends what the step has begun outside when the run is canceled or taken over, the process drains, or Temporal gives
 * the step up; and writes the run's log each second.
 */
export async function openScope(deps: Dependencies, { key, run }: SyncJob, ends: SyncEnds): Promise<RunScope> {
  const gone = new AbortController();
  const signal = AbortSignal.any([gone.signal, deps.draining, Context.current().cancellationSignal]);
  const log = await openLog(deps, run);
  const look = async () => {
    if (!(await isJobCurrent(deps.db, 'sync', key))) gone.abort(new JobGone());
  };
  const secretSettings = [ends.source.secretSettings, ends.destination?.secretSettings ?? {}];
  const timer = setInterval(() => {
    log.write().catch(() => {});
    look().catch(() => {});
  }, LOOK_EVERY_MS);
  const say = (line: string) => log.add(redacted(line, secretSettings));
  return {
    context: { ...deps.outside, scratch: deps.scratch.folderOf(key.entityId), signal, log: say },
    throwIfEnding: () => signal.throwIfAborted(),
    end: () => gone.abort(new JobGone()),
    log: say,
    async close() {
      clearInterval(timer);
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

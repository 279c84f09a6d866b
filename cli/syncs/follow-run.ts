import type { Client, FoundSyncRun } from '../../api/client.ts';
import type { CommandContext } from '../core/command-context.ts';
import { hasEnded } from '../imports/import-status.ts';
import { follow, type Shown } from '../jobs/follow.ts';
import { waiting } from './run-status.ts';

/** How a run stands now; whose sync it is stands in it. */
export function viewRun(client: Client, id: string): Promise<FoundSyncRun> {
  return client.findSyncRun({ params: { run_id: id } });
}

/** Shows how far a run is until it has ended: with a bar where its source can tell how much there is. */
export function followRun(context: CommandContext, id: string): Promise<FoundSyncRun> {
  return follow<FoundSyncRun>(context, {
    view: () => viewRun(context.client, id),
    hasEnded,
    shown,
    name: 'run',
    toFollow: `syncs follow ${id}`,
    toCancel: `syncs cancel ${id}`,
  });
}

function shown(run: FoundSyncRun): Shown {
  const { progress, expected_end_at: end } = run;
  const left = end === null ? [] : [`${duration(Date.parse(end) - Date.now())} left`];
  return {
    phase: progress === null ? '{text}' : '{bar} {percentage}% | {text}',
    value: Math.floor((progress ?? 0) * 100),
    total: 100,
    text: [...progressOf(run), ...left, elapsed(run)].join(' | '),
  };
}

function progressOf(run: FoundSyncRun): string[] {
  const {
    state,
    stage,
    records: { read, failed },
    rate,
    bytes,
    fault,
    waits_until: until,
  } = run;
  if (state === 'accepted') return ['waiting for its turn'];
  const counts = [`${read} records`, ...(failed > 0 ? [`${failed} failed`] : [])];
  if (!hasEnded(run) && until !== null && fault !== null) return [waiting(run), ...counts];
  if (stage !== null) return [stage, ...counts];
  return [...counts, `${Math.round(rate ?? 0)} records/s`, `${(bytes / 2 ** 20).toFixed(1)} MiB`];
}

/** Since it began, or was asked for. */
function elapsed({ received_at: received, started_at: started, ended_at: ended }: FoundSyncRun): string {
  const end = ended === null ? Date.now() : Date.parse(ended);
  return duration(end - Date.parse(started ?? received));
}

function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return [...(hours > 0 ? [`${hours} h`] : []), ...(seconds >= 60 ? [`${minutes} min`] : []), `${seconds % 60} s`].join(
    ' ',
  );
}

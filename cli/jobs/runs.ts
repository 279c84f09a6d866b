// Commands about runs of syncs and exporters, and the text that both print about a run.
import type { Command } from 'commander';
import type { Client, ExportRun } from '../../api/client.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { printable, table } from '../core/table.ts';
import { hasEnded } from '../imports/import-status.ts';
import { follow, type Shown } from './follow.ts';
import { internalErrorLines } from './say-internal-error.ts';

type RunStatus = Pick<
  ExportRun,
  'ended_at' | 'stage' | 'fault' | 'waits_until' | 'tries' | 'failure' | 'internal_error' | 'alerted'
> & { state: string };

export type RunsOfCommand<Status extends RunStatus> = {
  command: 'syncs' | 'exporters';
  view(client: Client, id: string): Promise<Status>;
  shown(run: Status): Shown;
  /** Prints a run's state, and returns the exit status. */
  tell(context: CommandContext, run: Status): number | Promise<number>;
};

export const RUNS_SHOWN = 50;
export const RUN = (command: string) => ['<run>', `as \`millrace ${command} runs\` shows it`] as const;

/** Adds `status`, `follow` and others that take a run. */
export function addRunCommands<Status extends RunStatus>(
  parent: Command,
  run: Run,
  runs: RunsOfCommand<Status>,
  others: [string, string, (context: CommandContext, id: string) => Promise<number>][],
): void {
  for (const [name, description, work] of [
    [
      'status',
      'show the state of a run',
      async (context, id) => runs.tell(context, await runs.view(context.client, id)),
    ],
    ['follow', 'follow a run until it has ended', (context, id) => followToEnd(context, runs, id)],
    ...others,
  ] satisfies typeof others) {
    parent
      .command(name)
      .description(description)
      .argument(...RUN(runs.command))
      .action((id: string) => run((context) => work(context, id)));
  }
}

export async function sayStarted<Status extends RunStatus>(
  context: CommandContext,
  runs: RunsOfCommand<Status>,
  id: string,
  wait = true,
): Promise<number> {
  context.console.log(`run ${id}`);
  return wait ? followToEnd(context, runs, id) : 0;
}

async function followToEnd<Status extends RunStatus>(
  context: CommandContext,
  { command, view, shown, tell }: RunsOfCommand<Status>,
  id: string,
): Promise<number> {
  const now = await view(context.client, id);
  if (hasEnded(now)) return tell(context, now);
  const ended = await follow<Status>(context, {
    view: () => view(context.client, id),
    hasEnded,
    shown,
    name: 'run',
    toFollow: `${command} follow ${id}`,
    toCancel: `${command} cancel ${id}`,
  });
  return tell(context, ended);
}

export function printRuns({ console, terminal }: CommandContext, heads: string[], rows: string[][], total: number) {
  console.log(table(heads, rows, terminal.width));
  if (total > rows.length) console.log(`and ${total - rows.length} older ones`);
  return 0;
}

export function troubleLines(run: RunStatus): string[] {
  const alerts = run.alerted.filter(({ state }) => state === 'not_sent' || state === 'unknown');
  return [
    ...(run.failure === null ? [] : [printable(run.failure.message)]),
    ...(run.stage === null ? [] : [run.stage]),
    ...(!hasEnded(run) && run.fault !== null ? [waiting(run)] : []),
    ...internalErrorLines(run.internal_error),
    ...alerts.map(
      ({ connection, state, reason }) =>
        `the alert to ${connection} ${state === 'unknown' ? 'may not have arrived' : 'was not sent'}: ${printable(reason ?? '')}`,
    ),
  ];
}

export function waitOf(run: RunStatus): string | null {
  if (run.state === 'accepted') return 'waiting for its turn';
  return !hasEnded(run) && run.waits_until !== null && run.fault !== null ? waiting(run) : run.stage;
}

function waiting({ fault, waits_until: until, tries }: RunStatus): string {
  const when = until === null ? '' : ` until ${new Date(until).toLocaleTimeString('en-GB')}`;
  const after = tries === 0 ? '' : `, after ${tries} ${tries === 1 ? 'try' : 'tries'}`; // 0: a wait for a quota
  return `waiting${when}${after}: ${printable(fault ?? '')}`;
}

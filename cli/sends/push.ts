/** The command `millrace push`: what the providers of an app's pushes said, and whether they work. */
import type { Command } from 'commander';
import { PUSH_PLATFORMS } from '../../domain/sends/push.ts';
import { findApp } from '../apps/find-app.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { recordTable } from '../core/group.ts';
import { sayValue, table } from '../core/table.ts';

const APP = ['<app>', 'its name or identifier'] as const;

export function addPushCommand(program: Command, run: Run): void {
  const push = program.command('push').description("the providers of an app's pushes");
  push
    .command('outcomes')
    .description(
      'count what the provider said of the pushes by day and code, what waits, and the devices that a push reaches',
    )
    .argument(...APP)
    .option('--days <n>', 'number of days up to today, from 1 to 400', '30')
    .action((app: string, { days }: { days: string }) => run((context) => outcomes(context, app, Number(days))));
  push
    .command('view')
    .description('show the provider of each platform, without secrets')
    .argument(...APP)
    .action((app: string) => run((context) => view(context, app)));
  push
    .command('check')
    .description('ask the provider of each platform whether it takes the credentials; no device gets anything')
    .argument(...APP)
    .action((app: string) => run((context) => check(context, app)));
}

async function outcomes(
  { client, console, terminal, setResult }: CommandContext,
  app: string,
  days: number,
): Promise<number> {
  const { identifier } = await findApp(client, app);
  const found = await client.viewPushOutcomes({ params: { app_identifier: identifier }, query: { days } });
  setResult(found);
  const { platform, provider, as_of, refused, waiting, devices } = found;
  const refusing = refused && `${refused.code} since ${refused.since}`;
  console.log(recordTable({ platform, provider, as_of, refuses_all: refusing, ...devices }, terminal.width));
  const waits = waiting.map(({ meaning, pushes, next_at: at }) => [meaning, String(pushes), at?.slice(0, 19) ?? 'now']);
  if (waits.length > 0) console.log(`\n${table(['waits for', 'pushes', 'due'], waits, terminal.width)}`);
  const rows = found.days.map((each) => [each.day, each.provider, each.outcome, each.code ?? '', String(each.pushes)]);
  console.log(
    rows.length === 0
      ? '\nno pushes'
      : `\n${table(['day', 'provider', 'outcome', 'code', 'pushes'], rows, terminal.width)}`,
  );
  return 0;
}

async function view({ client, console, terminal, setResult }: CommandContext, app: string): Promise<number> {
  const { identifier } = await findApp(client, app);
  const providers = await Promise.all(
    PUSH_PLATFORMS.map((platform) => client.viewPushProvider({ params: { app_identifier: identifier, platform } })),
  );
  setResult(providers);
  const rows = providers.map(({ platform, provider, updated_at: at, settings }) => [
    platform,
    provider,
    at?.slice(0, 19) ?? '',
    sayValue(settings),
  ]);
  console.log(table(['platform', 'provider', 'set at', 'settings'], rows, terminal.width));
  return 0;
}

/** Ends with 1 if a provider does not work. */
async function check({ client, console, terminal, setResult }: CommandContext, app: string): Promise<number> {
  const { identifier } = await findApp(client, app);
  const found = await client.checkPush({ params: { app_identifier: identifier }, body: {} });
  setResult(found);
  const { platforms } = found;
  const rows = platforms.flatMap(({ platform, provider, ok, findings }) =>
    findings.length === 0
      ? [[platform, provider, ok ? 'ok' : 'wrong', '', '']]
      : findings.map(({ severity, field, message }) => [platform, provider, severity, field, message]),
  );
  console.log(table(['platform', 'provider', 'result', 'field', 'message'], rows, terminal.width));
  return platforms.every(({ ok }) => ok) ? 0 : 1;
}

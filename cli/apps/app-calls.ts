/** The commands of `millrace apps` about calls of SDKs: the last ones as they come in, refused ones, counts by day. */
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { type LiveCall, stringify } from '../../api/client.ts';
import { REFUSAL_CODES, type RefusalCode } from '../../domain/tracking/call.ts';
import { fixOfRefusal } from '../../domain/tracking/sdk-line.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { printable, table } from '../core/table.ts';
import { untilAnswered } from '../core/until-answered.ts';
import { escapeControls } from '../core/write-out.ts';
import { APP, appParams, findApp } from './find-app.ts';

const TAIL =
  'show the calls of its SDK as they come in: accepted, repeated, or refused and why, traits that failed, and keys ' +
  'whose attribute became a String; until Ctrl-C';
const MAX_REFUSED = 1_000;

type RefusedOptions = { code?: RefusalCode; messageId?: string; limit: string };

export function addCallCommands(apps: Command, run: Run): void {
  apps
    .command('tail')
    .description(TAIL)
    .argument(...APP)
    .option('--once', 'only the last ones')
    .action((app: string, options: { once?: true }) => run((context) => tail(context, options, app)));
  apps
    .command('refused')
    .description('list refused calls of 30 days, newest first, each with what to change')
    .argument(...APP)
    .addOption(new Option('--code <code>', 'only these').choices(REFUSAL_CODES))
    .option('--message-id <id>', 'only calls with this messageId')
    .option('--limit <n>', 'maximum number of calls, from 1 to 1,000', '50')
    .action((app: string, options: RefusedOptions) => run((context) => listRefused(context, options, app)));
  apps
    .command('counts')
    .description('count its calls by UTC day: received = accepted + repeats + refused')
    .argument(...APP)
    .option('--days <n>', 'number of days up to today, from 1 to 31', '7')
    .action((app: string, options: { days: string }) => run((context) => count(context, options, app)));
}

const ASK_EVERY_MS = 1_000;

/** Prints the last calls, then new ones, also after a restart of the server. With --json each is a line. */
async function tail(
  { client, console, stdout, isJson, setResult }: CommandContext,
  { once }: { once?: true },
  given: string,
): Promise<number> {
  const params = await appParams(client, given);
  for (let after = 0; ; await delay(ASK_EVERY_MS)) {
    const ask = () => client.listLiveCalls({ params, query: { after } });
    const { calls } = once ? await ask() : await untilAnswered(ask, (text) => console.error(text));
    for (const call of calls.toReversed()) {
      if (isJson && !once) stdout.write(`${escapeControls(stringify(call))}\n`);
      else console.log(lineOf(call));
    }
    after = calls[0]?.id ?? after;
    if (!once) continue;
    setResult(calls);
    return 0;
  }
}

function lineOf({ received_at: at, outcome, code, message, call }: LiveCall): string {
  const why = message === null ? '' : ` (${code === null ? '' : `${code}: `}${message})`;
  return printable(`${new Date(at).toLocaleTimeString('en-GB')} ${outcome}${why} ${call}`);
}

async function listRefused(
  { client, console, setResult }: CommandContext,
  { code, messageId, limit }: RefusedOptions,
  given: string,
): Promise<number> {
  const { identifier, package_name: packageName } = await findApp(client, given);
  const { refused_calls: calls } = await client.listRefusedCalls({
    params: { app_identifier: identifier },
    query: {
      per_page: Math.min(Number(limit), MAX_REFUSED),
      ...(code && { code }),
      ...(messageId !== undefined && { message_id: messageId }),
    },
  });
  setResult(calls);
  if (calls.length === 0) console.log('no call was refused');
  for (const { received_at: at, message, call, ...refused } of calls) {
    const { says, line } = fixOfRefusal({ code: refused.code, message, call, packageName });
    console.log(printable(`${at.slice(0, 19)} ${refused.code}: ${message} ${call ?? '(of an erased person)'}`));
    console.log(`  ${printable(says)}`);
    for (const [mark, text] of line === null
      ? []
      : ([
          ['-', line.was],
          ['+', line.is],
        ] as const))
      for (const each of text.split('\n')) console.log(`  ${mark} ${printable(each)}`);
  }
  return 0;
}

async function count(
  { client, console, terminal, setResult }: CommandContext,
  { days }: { days: string },
  given: string,
): Promise<number> {
  const params = await appParams(client, given);
  const counts = await client.countCalls({ params, query: { days: Number(days) } });
  setResult(counts);
  const rows = counts.days.map((day) =>
    [day.date, day.received, day.accepted, day.duplicates, day.refused, day.refused_of_no_app || ''].map(String),
  );
  console.log(table(['day', 'received', 'accepted', 'repeats', 'refused', 'of no app'], rows, terminal.width));
  console.log(counts.last_received_at === null ? 'no call in these days' : `last call ${counts.last_received_at}`);
  return 0;
}

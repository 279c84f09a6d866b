import { setTimeout as delay } from 'node:timers/promises';
import { type LiveCall, stringify } from '../../api/client.ts';
import type { CommandContext } from '../core/command-context.ts';
import { escapeControls } from '../core/readable.ts';
import { printable } from '../core/table.ts';
import { untilAnswered } from '../core/until-answered.ts';
import { appParams } from './find-app.ts';

const ASK_EVERY_MS = 1_000;

/**
 * Prints an app's last calls, then each as it comes in, oldest first, also after a restart of the server; with `once`
 * those that are there. With --json it prints one object a line.
 */
export async function tail(
  { client, console, stdout, isJson, setResult }: CommandContext,
  { once }: { once?: true },
  given: string,
): Promise<void> {
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
    return;
  }
}

function lineOf({ received_at: at, outcome, code, message, call }: LiveCall): string {
  const why = message === null ? '' : ` (${code === null ? '' : `${code}: `}${message})`;
  return printable(`${new Date(at).toLocaleTimeString('en-GB')} ${outcome}${why} ${call}`);
}

/** The command `millrace attention`. */
import { type Command, Option } from 'commander';
import type { AttentionItem } from '../../api/client.ts';
import { ATTENTION_KINDS } from '../../domain/jobs/attention.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { table } from '../core/table.ts';

type Options = { kind?: AttentionItem['kind'] };

export const addAttentionCommand = (program: Command, run: Run) =>
  program
    .command('attention')
    .description('list what needs attention, newest first, and what to do about it')
    .addOption(new Option('--kind <kind>').choices(ATTENTION_KINDS))
    .action((options: Options) => run((context) => list(context, options)));

async function list(
  { client, console, terminal: { width }, setResult }: CommandContext,
  { kind }: Options,
): Promise<number> {
  const found = await Array.fromAsync(client.each.listAttention({ query: { kind, per_page: 1_000 } }));
  setResult(found);
  if (found.length === 0) console.log('Nothing needs attention.');
  else {
    console.log(
      table(
        ['since', 'kind', 'what', 'name', 'run', 'reason', 'what to do'],
        found.map(({ object, ...item }) => [
          item.since.slice(0, 19),
          item.kind,
          `${object.type}${object.id === null ? '' : ` ${object.id}`}`,
          object.name ?? '',
          object.run ?? '',
          item.reason,
          item.what_to_do,
        ]),
        width,
      ),
    );
  }
  return 0;
}

import { Argument, type Command } from 'commander';
import type { Client, IdentifierLink } from '../../api/client.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { table } from '../core/table.ts';

type Options = { request?: true };

/** Adds the commands of `millrace gdpr` about people's identifiers, and the evidence for them. */
export function addGdprIdentifierCommands(gdpr: Command, run: Run): void {
  gdpr
    .command('identifiers')
    .description('list the ids that a request for a user would cover, and those that it would leave alone')
    .argument('<user>', 'user id')
    .option('--request', 'the argument is a request; list the same for its people')
    .action((id: string, { request }: Options) =>
      run(async (context) =>
        show(context, await Array.fromAsync(linksOf(context.client, id, request)), { ...(request && { request }) }),
      ),
    );
  gdpr
    .command('alias')
    .description('confirm or refuse an alias between two ids that only an SDK has reported')
    .addArgument(new Argument('<decision>', 'confirm, refuse, or undo').choices(Object.keys(DECISIONS)))
    .argument('<previous>', 'the earlier id')
    .argument('<user>', 'the later id')
    .action((decision: keyof typeof DECISIONS, previous: string, user: string) =>
      run((context) => decide(context, DECISIONS[decision], previous, user)),
    );
}

const DECISIONS = { confirm: 'confirmed', refuse: 'refused', undo: 'undecided' } as const;
type Decision = (typeof DECISIONS)[keyof typeof DECISIONS];

function linksOf({ each }: Client, id: string, isRequest = false): AsyncGenerator<IdentifierLink> {
  return isRequest
    ? each.listGdprIdentifiers({ params: { request_id: id } })
    : each.previewUserIdentifiers({ query: { user_id: id } });
}

function show({ console, terminal: { width } }: CommandContext, links: IdentifierLink[], { request }: Options): number {
  if (request && links.length === 0) {
    console.log('none: they are deleted once a request is treated, and its receipt says how many there were');
    return 0;
  }
  console.log(
    table(
      ['of', 'kind', 'id', 'why', 'said by', 'since'],
      links.map((one) => [
        one.person ?? '',
        one.kind,
        one.id,
        one.left_alone === null ? (one.origin ?? '') : `left alone: ${one.left_alone}`,
        one.device_id ?? one.app_id ?? '',
        one.said_at?.slice(0, 16) ?? '',
      ]),
      width,
    ),
  );
  return 0;
}

async function decide(
  { client, console }: CommandContext,
  decision: Decision,
  previousId: string,
  userId: string,
): Promise<number> {
  await client.decideAlias({ body: { previous_id: previousId, user_id: userId, decision } });
  console.log(decision);
  return 0;
}

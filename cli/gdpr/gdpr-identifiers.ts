import { Argument, type Command } from 'commander';
import { allPages } from '../core/all-pages.ts';
import { call } from '../core/client.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { table } from '../core/table.ts';

type Link = {
  person: string | null; kind: string; id: string; origin: string | null; via: string | null; left_alone: string | null;
  app_id: string | null; device_id: string | null; said_at: string | null;
};
type Options = { request?: true };

/** The commands of `millrace gdpr` about what people are known by, and whose word that rests on. */
export function addGdprIdentifierCommands(gdpr: Command, run: Run): void {
  gdpr.command('identifiers').description('list what a request for a user would gather, and what it would leave alone')
    .argument('<user>', 'user id').option('--request', 'it is a request, of which to list the same')
    .action((id: string, { request }: Options) => run(async (context) => show(context, await allPages<Link>(context.server, request
      ? `/api/gdpr/requests/${encodeURIComponent(id)}/identifiers` : `/api/gdpr/identifiers?user_id=${encodeURIComponent(id)}`))));
  gdpr.command('alias').description('confirm or refuse that an id came before another, which only an SDK says')
    .addArgument(new Argument('<decision>', 'confirm, refuse, or undo').choices(Object.keys(DECISIONS)))
    .argument('<previous>', 'the earlier id').argument('<user>', 'the later id')
    .action((decision: keyof typeof DECISIONS, previous: string, user: string) =>
      run((context) => decide(context, DECISIONS[decision], previous, user)));
}

const DECISIONS = { confirm: 'confirmed', refuse: 'refused', undo: 'undecided' } as const;

function show({ console }: CommandContext, links: Link[]): number {
  console.log(table(['of', 'kind', 'id', 'why', 'said by', 'since'], links.map((one) => [
    one.person ?? '', one.kind, one.id, one.left_alone === null ? one.origin ?? '' : `left alone: ${one.left_alone}`,
    one.device_id ?? one.app_id ?? '', one.said_at?.slice(0, 16) ?? '',
  ])));
  return 0;
}

async function decide({ server, console }: CommandContext, decision: string, previousId: string, userId: string): Promise<number> {
  await call(server, 'PUT', '/api/gdpr/aliases', { previous_id: previousId, user_id: userId, decision });
  console.log(decision);
  return 0;
}

import type { Command } from 'commander';
import type { GdprRequest } from '../../api/client.ts';
import { Refusal, refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { confirmDeletion, YES, type YesOption } from '../core/confirm-deletion.ts';
import { readPeople } from '../core/read-people.ts';
import { table } from '../core/table.ts';
import { follow } from '../jobs/follow.ts';
import { isOver, peopleOf, progressOf, reportGdpr, REQUEST, similarLines, viewGdpr } from './gdpr-record.ts';

type AskOptions = YesOption & { file?: string; email: boolean; wait?: true };
type ListOptions = { type?: string; state?: string };

const REQUESTS_SHOWN = 50;
const DECLINED = 1;
const NOT_DECIDED = 1;

type Decision = 'approve' | 'decline';

/** Adds the commands of `millrace gdpr` that make requests and show their state. */
export function addGdprRequestCommands(gdpr: Command, run: Run): void {
  addAsking(gdpr, run, 'access', 'request all data of users: an archive for each of them');
  addAsking(gdpr, run, 'delete', 'request the deletion of all data of users').option(...YES);
  gdpr
    .command('status')
    .description('show the state of a request')
    .argument(...REQUEST)
    .action((id: string) => run(async (context) => tell(context, await viewGdpr(context.client, id))));
  gdpr
    .command('requests', { isDefault: true })
    .description(`list the last ${REQUESTS_SHOWN} requests, newest first`)
    .option('--type <type>', 'access or delete')
    .option('--state <state>', 'waiting, accepted, running, treated or declined')
    .action((options: ListOptions) => run((context) => list(context, options)));
  for (const [name, description] of [
    ['approve', 'approve deletions that devices requested, or restart requests that were given up'],
    ['decline', 'decline requests: nothing is deleted'],
  ] as const) {
    gdpr
      .command(name)
      .description(description)
      .argument('<request...>', REQUEST[1])
      .action((ids: string[]) => run((context) => decideAll(context, ids, name)));
  }
}

function addAsking(gdpr: Command, run: Run, type: GdprRequest['type'], description: string): Command {
  return gdpr
    .command(type)
    .description(description)
    .argument('[user...]', 'user ids')
    .option('--file <file>', 'a user id a line; - is standard input')
    .option('--no-email', 'send no e-mail when it is done')
    .option('--wait', 'until all of them are treated')
    .action((users: string[], options: AskOptions) => run((context) => ask(context, type, users, options)));
}

/** Sends a request with an idempotency key, so that a repetition makes no second one. */
async function ask(
  context: CommandContext,
  type: GdprRequest['type'],
  given: string[],
  options: AskOptions,
): Promise<number> {
  const { server, client, console } = context;
  const { file, email, wait, yes } = options;
  const users = await readPeople(context, given, file);
  if (type === 'delete')
    await confirmDeletion(context, `all data of ${users.length === 1 ? 'one user' : `${users.length} users`}`, yes);
  const asked = { body: { users, skip_email: !email } };
  const { callback_url: url } = await (type === 'access' ? client.requestAccess(asked) : client.requestDeletion(asked));
  const id =
    new URL(url).searchParams.get('request_id') ??
    refuse(502, 'bad_reply', `${server.url} answered without a request.`);
  console.log(`request ${id}`);
  if (wait) return followToEnd(context, id);
  for (const line of similarLines((await viewGdpr(client, id)).similar_ids)) console.error(line);
  return 0;
}

async function followToEnd(context: CommandContext, id: string): Promise<number> {
  return tell(
    context,
    await follow<GdprRequest>(context, {
      view: () => viewGdpr(context.client, id),
      hasEnded: isOver,
      name: 'request',
      toFollow: `gdpr status ${id}`,
      toCancel: null,
      shown: (view) => ({ phase: '{text}', value: 0, total: peopleOf(view).length, text: progressOf(view) }),
    }),
  );
}

function tell({ console, terminal: { width } }: CommandContext, view: GdprRequest): number {
  console.log(reportGdpr(view, width));
  return view.state === 'declined' ? DECLINED : 0;
}

async function list(
  { client, console, terminal: { width } }: CommandContext,
  { type, state }: ListOptions,
): Promise<number> {
  const { items, total_items: total } = await client.listGdprRequests({
    query: { per_page: REQUESTS_SHOWN, type, state },
  });
  console.log(
    table(
      ['request', 'type', 'source', 'state', 'asked', 'treated', 'people', 'done', 'on hold'],
      items.map((one) => [
        one.request_id,
        one.type,
        one.source,
        one.state,
        one.requested_at.slice(0, 16),
        one.treated_at?.slice(0, 16) ?? '',
        ...[one.people.asked, one.people.treated, one.people.held].map(String),
      ]),
      width,
    ),
  );
  if (total > items.length) console.log(`and ${total - items.length} older ones`);
  return 0;
}

/** Decides on each request, even if another fails; names each of several. */
async function decideAll(context: CommandContext, ids: readonly string[], decision: Decision): Promise<number> {
  if (ids.length === 1) return decide(context, ids[0]!, decision);
  let failed = 0;
  for (const id of ids) {
    try {
      await decide(context, id, decision, `${id} `);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      context.console.error(`${id} ${error.message}`);
      failed += 1;
    }
  }
  return failed === 0 ? 0 : NOT_DECIDED;
}

async function decide(
  { client, console }: CommandContext,
  id: string,
  decision: Decision,
  prefix = '',
): Promise<number> {
  const asked = { params: { request_id: id } };
  await (decision === 'approve' ? client.approveGdprRequest(asked) : client.declineGdprRequest(asked));
  console.log(`${prefix}${decision === 'approve' ? 'approved' : 'declined'}`);
  return 0;
}

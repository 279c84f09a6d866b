/** The commands of `millrace gdpr` about people: holds on deletion, re-admission, ids and aliases. */
import { Argument, type Command, Option } from 'commander';
import type { Client, GdprHold, IdentifierLink } from '../../api/client.ts';
import type { CommandContext, Run } from '../core/command-context.ts';
import { readPeople } from '../core/read-input.ts';
import { table } from '../core/table.ts';

type HoldOptions = { reason: string; kind?: GdprHold['kind']; device?: true };
type ReadmitOptions = { file?: string; device?: true };

const DEVICE = ['--device', 'it is the id of a device'] as const;

export function addGdprPeopleCommands(gdpr: Command, run: Run): void {
  gdpr
    .command('hold')
    .description('put a user on hold, to prevent their deletion until the release')
    .argument('<user>', 'user id')
    .requiredOption('--reason <reason>', 'is shown with requests that wait for it')
    .addOption(
      new Option('--kind <kind>', 'hold: a legal one; restriction: of processing (GDPR, article 18)').choices([
        'hold',
        'restriction',
      ]),
    )
    .option(...DEVICE)
    .action((user: string, options: HoldOptions) => run((context) => hold(context, user, options)));
  gdpr
    .command('release')
    .description('release a hold; requests that wait for it continue')
    .argument('<hold>', 'as `millrace gdpr holds` shows it')
    .action((id: string) => run((context) => release(context, id)));
  gdpr
    .command('holds')
    .description('list who is on hold')
    .action(() =>
      run(async (context) => showHolds(context, await Array.fromAsync(context.client.each.listGdprHolds()))),
    );
  gdpr
    .command('readmit')
    .description('accept the data of erased users again; erased data does not come back')
    .argument('[user...]', 'user ids')
    .option('--file <file>', 'an id a line; - is standard input')
    .option('--device', 'all of them are ids of devices, not of users')
    .action((users: string[], options: ReadmitOptions) => run((context) => readmit(context, users, options)));
  addIdentifierCommands(gdpr, run);
}

async function hold(
  { client, console }: CommandContext,
  id: string,
  { reason, kind, device }: HoldOptions,
): Promise<number> {
  const body = { ...(device ? { device_id: id } : { user_id: id }), reason, kind };
  const made = await client.createGdprHold({ body });
  console.log(made.identifier);
  if (made.deletion_under_way) console.error('A deletion of theirs had begun before: it may not stop for it any more.');
  return 0;
}

async function release({ client, console }: CommandContext, id: string): Promise<number> {
  await client.releaseGdprHold({ params: { hold_id: id } });
  console.log('released');
  return 0;
}

function showHolds({ console, terminal: { width } }: CommandContext, holds: GdprHold[]): number {
  console.log(
    table(
      ['hold', 'kind', 'of', 'since', 'by', 'reason'],
      holds.map((one) => [
        one.identifier,
        one.kind,
        one.user_id ?? `device ${one.device_id}`,
        one.created_at.slice(0, 16),
        one.created_by ?? '',
        one.reason,
      ]),
      width,
    ),
  );
  return 0;
}

async function readmit(
  { client, stdin, console }: CommandContext,
  given: string[],
  { file, device }: ReadmitOptions,
): Promise<number> {
  const ids = await readPeople({ stdin }, given, file);
  const body = device ? { devices: ids } : { users: ids };
  const { readmitted, unknown } = await client.readmitPeople({ body });
  const what = `${device ? 'device' : 'user'}${readmitted === 1 ? '' : 's'}`;
  console.log(`${readmitted} ${what} readmitted, ${unknown} had not been erased`);
  return 0;
}

type IdentifierOptions = { request?: true };

function addIdentifierCommands(gdpr: Command, run: Run): void {
  gdpr
    .command('identifiers')
    .description('list the ids that a request for a user would cover, and those that it would leave alone')
    .argument('<user>', 'user id')
    .option('--request', 'the argument is a request; list the same for its people')
    .action((id: string, { request }: IdentifierOptions) =>
      run(async (context) =>
        showLinks(context, await Array.fromAsync(linksOf(context.client, id, request)), {
          ...(request && { request }),
        }),
      ),
    );
  gdpr
    .command('aliases')
    .description('list the aliases from and to an id, with what was decided')
    .argument('<user>', 'the earlier or the later id')
    .action((id: string) => run((context) => listAliases(context, id)));
  gdpr
    .command('alias')
    .description('confirm or refuse an alias between two ids that only an SDK has reported')
    .addArgument(new Argument('<decision>', 'confirm, refuse, or undo').choices(Object.keys(DECISIONS)))
    .argument('<previous>', 'the earlier id')
    .argument('<user>', 'the later id')
    .action((decision: keyof typeof DECISIONS, previous: string, user: string) =>
      run((context) => decideAlias(context, DECISIONS[decision], previous, user)),
    );
}

const DECISIONS = { confirm: 'confirmed', refuse: 'refused', undo: 'undecided' } as const;

type Decision = (typeof DECISIONS)[keyof typeof DECISIONS];

function linksOf({ each }: Client, id: string, isRequest = false): AsyncGenerator<IdentifierLink> {
  return isRequest
    ? each.listGdprIdentifiers({ params: { request_id: id } })
    : each.previewUserIdentifiers({ query: { user_id: id } });
}

function showLinks(
  { console, terminal: { width } }: CommandContext,
  links: IdentifierLink[],
  { request }: IdentifierOptions,
): number {
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

async function listAliases({ client, console, terminal: { width } }: CommandContext, id: string): Promise<number> {
  const aliases = await Array.fromAsync(client.each.listAliases({ query: { user_id: id } }));
  console.log(
    table(
      ['earlier', 'later', 'witnessed', 'decision'],
      aliases.map((one) => [one.previous_id, one.user_id, one.witnessed ? 'yes' : '', one.decision ?? 'undecided']),
      width,
    ),
  );
  return 0;
}

async function decideAlias(
  { client, console }: CommandContext,
  decision: Decision,
  previousId: string,
  userId: string,
): Promise<number> {
  await client.decideAlias({ body: { previous_id: previousId, user_id: userId, decision } });
  console.log(decision);
  return 0;
}

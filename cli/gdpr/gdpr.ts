/** The command `millrace gdpr`: requests of people, their archives and receipts. */
import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Command, Option } from 'commander';
import type { Client, GdprRequest } from '../../api/client.ts';
import { Refusal, refuse } from '../../domain/core/refusal.ts';
import { DECLINE_REASONS, type DeclineReason } from '../../domain/gdpr/gdpr-codes.ts';
import type { CommandContext, ProcessIo, Run } from '../core/command-context.ts';
import { escapeControls, writeOut } from '../core/write-out.ts';
import { printable, table } from '../core/table.ts';
import { addGdprPeopleCommands } from './gdpr-people.ts';
import { internalErrorLines } from '../jobs/say-internal-error.ts';
import { confirmDeletion, YES, type YesOption } from '../core/ask.ts';
import { readPeople } from '../core/read-input.ts';
import { follow } from '../jobs/follow.ts';

export function addGdprCommand(program: Command, run: Run): void {
  const gdpr = program.command('gdpr').description('requests of people for their data or its deletion, and holds');
  addRequestCommands(gdpr, run);
  addEvidenceCommands(gdpr, run);
  addGdprPeopleCommands(gdpr, run);
}

/** Permissions of files that only the person and the requester may read. */
const OWN = 0o600;
const ARCHIVE = /\/api\/gdpr\/downloads\/(?<request_id>[^/]+)\/(?<ordinal>\d+)\/(?<signature>[^/]+)$/;

function addEvidenceCommands(gdpr: Command, run: Run): void {
  gdpr
    .command('download')
    .description('write the archives of a request for data into files, and check each against its receipt')
    .argument(...REQUEST)
    .option('--to <folder>', 'where to', '.')
    .action((id: string, { to }: { to: string }) => run((context) => downloadAll(context, id, to)));
  gdpr
    .command('receipt')
    .description('print the signed receipts of a request, or of a person: `millrace verify` reads them')
    .argument('[request]', 'as `millrace gdpr requests` shows it; a request shows there for a week')
    .option('--user <id>', 'all receipts of the user instead, however old')
    .option('--device <id>', 'the same of a device')
    .option('--out <file>', 'write them into a file')
    .action((id: string | undefined, options: ReceiptOptions) => run((context) => printReceipts(context, id, options)));
  gdpr
    .command('locations')
    .description('list the tables and file areas that may hold personal data, and how long they keep it')
    .argument('[request]', 'a deletion: shows what it has erased in each, and what its last scan still found')
    .action((id: string | undefined) => run((context) => listLocations(context, id)));
}

async function listLocations(
  { client, console, terminal: { width } }: CommandContext,
  id: string | undefined,
): Promise<number> {
  const { locations } = await client.listPersonalDataLocations({ query: { request_id: id } });
  const counted = id === undefined ? [] : ['erased', 'left'];
  const rows = locations.map(({ name, holds, kept_for: kept, erased, survivors }) => [
    name,
    ...(id === undefined ? [] : [String(erased ?? ''), String(survivors ?? '')]),
    withoutLinks(holds),
    withoutLinks(kept),
  ]);
  console.log(table(['location', ...counted, 'may hold', 'kept'], rows, width));
  return 0;
}

const withoutLinks = (markdown: string) => markdown.replaceAll(/\[([^[\]]{0,200})\]\([^()]{0,200}\)/g, '$1');

type ReceiptOptions = { user?: string; device?: string; out?: string };

async function downloadAll({ client, stdout, console }: CommandContext, id: string, folder: string): Promise<number> {
  const view = await viewGdpr(client, id);
  if (!view.download_urls) refuse(400, 'no_archives', `${id} is a request for deletion: it has no archives.`);
  const people = peopleOf(view);
  const archives = people.flatMap(([who, url]) => archiveOf(who, url));
  for (const [who, url] of people)
    if (archiveOf(who, url).length === 0) console.log(printable(`${who}: ${url ?? 'pending'}`));
  if (archives.length === 0) return people.some(([, url]) => url === null) ? 1 : 0;
  const { receipts } = await receiptsOf(client, id);
  const known = new Set(
    receipts.flatMap((receipt) => (receipt.type === 'access' ? receipt.archives.map(({ sha256 }) => sha256) : [])),
  );
  await mkdir(folder, { recursive: true });
  for (const { who, params } of archives) {
    const file = join(folder, `${id}-${params.ordinal}.zip`);
    const sha256 = await save({ stdout }, await client.stream.downloadArchive({ params }), file);
    if (!known.has(sha256))
      refuse(502, 'not_the_archive', `${file} is not what a receipt tells of: its SHA-256 is ${sha256}.`);
    console.log(printable(`${who}: ${file}`));
  }
  return people.some(([, url]) => url === null) ? 1 : 0;
}

type ArchiveParams = { request_id: string; ordinal: string; signature: string };

function archiveOf(who: string, url: string | null): { who: string; params: ArchiveParams }[] {
  if (url === null || !URL.canParse(url)) return [];
  const { pathname } = new URL(url);
  const match = ARCHIVE.exec(pathname);
  return match ? [{ who, params: match.groups as ArchiveParams }] : [];
}

async function save(io: Pick<ProcessIo, 'stdout'>, pieces: AsyncIterable<Uint8Array>, file: string): Promise<string> {
  const hash = createHash('sha256');
  await writeOut(
    io,
    (async function* hashed() {
      for await (const piece of pieces) {
        hash.update(piece);
        yield piece;
      }
    })(),
    file,
    OWN,
  );
  return hash.digest('hex');
}

function receiptsOf(client: Client, id: string) {
  return client.listGdprReceipts({ params: { request_id: id } });
}

async function printReceipts(
  { client, stdout }: CommandContext,
  id: string | undefined,
  { user, device, out }: ReceiptOptions,
): Promise<number> {
  const given = [id, user, device].filter((one) => one !== undefined);
  if (given.length !== 1) refuse(400, 'bad_request', 'Give a request, or --user with an id, or --device with one.');
  const found =
    id === undefined
      ? await receiptsOfPerson(client, user === undefined ? { device_id: device } : { user_id: user })
      : await receiptsOf(client, id);
  if (found.receipts.length === 0) refuse(404, 'no_receipts', 'There is no receipt of this id.');
  await writeOut({ stdout }, [`${escapeControls(JSON.stringify(found, null, 2))}\n`], out);
  return 0;
}

async function receiptsOfPerson(
  client: Client,
  query: { user_id?: string | undefined; device_id?: string | undefined },
) {
  return { receipts: await Array.fromAsync(client.each.listReceiptsOfPerson({ query })) };
}

type AskOptions = YesOption & { file?: string; email: boolean; wait?: true };
type ListOptions = { type?: string; state?: string };

const REQUESTS_SHOWN = 50;
const DECLINED = 1;
const NOT_DECIDED = 1;

type DecideOptions = { reason?: DeclineReason };
type Decision = { decision: 'approve' | 'decline'; reason: DeclineReason | undefined };

function addRequestCommands(gdpr: Command, run: Run): void {
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
    const command = gdpr
      .command(name)
      .description(description)
      .argument('<request...>', REQUEST[1])
      .action((ids: string[], { reason }: DecideOptions) =>
        run((context) => decideAll(context, ids, { decision: name, reason })),
      );
    if (name === 'decline')
      command.addOption(new Option('--reason <reason>', 'kept in the audit log').choices(DECLINE_REASONS));
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

/** Decides on each request, even if another fails. */
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
  { decision, reason }: Decision,
  prefix = '',
): Promise<number> {
  const params = { request_id: id };
  await (decision === 'approve'
    ? client.approveGdprRequest({ params })
    : client.declineGdprRequest({ params, body: { reason } }));
  console.log(`${prefix}${decision === 'approve' ? 'approved' : 'declined'}`);
  return 0;
}

const REQUEST = ['<request>', 'as `millrace gdpr requests` shows it'] as const;

function viewGdpr(client: Client, request: string): Promise<GdprRequest> {
  return client.viewGdprRequest({ params: { request_id: request } });
}

function isOver({ state }: GdprRequest): boolean {
  return state === 'treated' || state === 'declined';
}

function peopleOf({ download_urls: urls, user_ids: states }: GdprRequest): [string, string | null][] {
  return Object.entries(urls ?? states ?? {});
}

function progressOf(view: GdprRequest): string {
  const people = peopleOf(view);
  const held = Object.keys(view.waiting).length;
  const done = `${people.filter(([, state]) => state !== null).length} of ${people.length} people`;
  const { stage, fault } = view.progress;
  const isHeld = held > 0 ? [`${held} on hold`] : [];
  return [done, ...isHeld, ...(stage === null ? [] : [stage]), ...(fault === null ? [] : [fault.reason])].join(', ');
}

function reportGdpr(view: GdprRequest, width: number | null): string {
  const {
    request_id: id,
    type,
    source,
    state,
    requested_at: at,
    treated_at: treated,
    expires_at: expires,
    progress,
    waiting,
  } = view;
  const title = `${type === 'access' ? 'data' : 'deletion'} asked for ${at.slice(0, 19)}Z (${source})`;
  const ends = treated === null ? '' : `, treated ${treated.slice(0, 19)}Z`;
  const people = peopleOf(view).map(([who, how]) => [who, waiting[who] ?? how ?? undecided(view)]);
  return [
    `${id}: ${state}, ${title}${ends}${expires === null ? '' : `, shown until ${expires.slice(0, 19)}Z`}`,
    ...(progress.stage === null ? [] : [`at: ${progress.stage}`]),
    ...progress.faults.flatMap(({ since, reason, what_to_do: toDo }) => [
      `kept since ${since.slice(0, 19)}Z: ${reason}`,
      `  ${toDo}`,
    ]),
    ...internalErrorLines(progress.internal_error),
    ...countLines('an approval erases', view.would_erase ?? {}),
    ...countLines('erased', progress.erased),
    ...countLines('still found', progress.survivors),
    ...(view.kept_values ?? []).map(({ place, object, key, values }) =>
      place === 'outbox/'
        ? `kept: ${object}, which is no mail`
        : place === 'gdpr_holds'
          ? `kept: the reason of hold ${object}, which names an id`
          : `kept: values of ${key ?? 'a key'} in ${object} that are the same as an id: ${values}`,
    ),
    ...similarLines(view.similar_ids),
    '',
    table(['person', 'how it stands'], people, width),
  ].join('\n');
}

/** Warns of users who may be the same people under other ids. */
function similarLines(similar: GdprRequest['similar_ids']): string[] {
  const lines = Object.entries(similar).map(
    ([asked, others]) => `similar to ${printable(asked)}: ${others.map(printable).join(', ')}`,
  );
  return lines.length === 0
    ? []
    : [
        ...lines,
        '  These ids differ only in capitals or composed letters. The request leaves them alone: if they are the same person, make a ' +
          'request for them as well.',
      ];
}

function undecided({ state }: GdprRequest): string {
  if (state === 'declined') return 'declined: nothing was done';
  return state === 'waiting' ? 'waits for approval' : 'pending';
}

function countLines(name: string, counts: Record<string, number | null>): string[] {
  const some = Object.entries(counts).filter(([, count]) => count !== 0);
  return some.length === 0
    ? []
    : [`${name}: ${some.map(([place, count]) => `${place} ${count ?? 'not counted'}`).join(', ')}`];
}

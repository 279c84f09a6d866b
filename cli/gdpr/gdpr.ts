import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Argument, type Command } from 'commander';
import type { Client, IdentifierLink } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, ProcessIo, Run } from '../core/command-context.ts';
import { escapeControls } from '../core/readable.ts';
import { printable, table } from '../core/table.ts';
import { writeOut } from '../core/write-out.ts';
import { addGdprPeopleCommands } from './gdpr-people.ts';
import { peopleOf, REQUEST, viewGdpr } from './gdpr-record.ts';
import { addGdprRequestCommands } from './gdpr-requests.ts';

export function addGdprCommand(program: Command, run: Run): void {
  const gdpr = program.command('gdpr').description('requests of people for their data or its deletion, and holds');
  addGdprRequestCommands(gdpr, run);
  addGdprEvidenceCommands(gdpr, run);
  addGdprPeopleCommands(gdpr, run);
  addGdprIdentifierCommands(gdpr, run);
}

/** Commands of `millrace gdpr` that fetch archives and receipts. */

/** Permissions of files that only the person and the requester may read. */
const OWN = 0o600;
const ARCHIVE = /\/api\/gdpr\/downloads\/(?<request_id>[^/]+)\/(?<ordinal>\d+)\/(?<signature>[^/]+)$/;

function addGdprEvidenceCommands(gdpr: Command, run: Run): void {
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
}

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

/**
 * Returns the archive's address on the configured server, which may have other host names; nothing if there is a text
 * instead.
 */
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

type Options = { request?: true };

/** Adds the commands of `millrace gdpr` about people's identifiers, and the evidence for them. */
function addGdprIdentifierCommands(gdpr: Command, run: Run): void {
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

/** Commands of `millrace gdpr` that fetch archives and receipts. */
import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import type { Client } from '../../api/client.ts';
import { refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, ProcessIo, Run } from '../core/command-context.ts';
import { escapeControls } from '../core/readable.ts';
import { printable } from '../core/table.ts';
import { writeOut } from '../core/write-out.ts';
import { peopleOf, REQUEST, viewGdpr } from './gdpr-record.ts';

/** Permissions of files that only the person and the requester may read. */
const OWN = 0o600;
const ARCHIVE = /\/api\/gdpr\/downloads\/(?<request_id>[^/]+)\/(?<ordinal>\d+)\/(?<signature>[^/]+)$/;

export function addGdprEvidenceCommands(gdpr: Command, run: Run): void {
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

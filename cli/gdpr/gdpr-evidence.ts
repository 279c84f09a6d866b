import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Command } from 'commander';
import { refuse } from '../../domain/core/refusal.ts';
import { call, download, type Server } from '../core/client.ts';
import type { CommandContext, ProcessIo, Run } from '../core/command-context.ts';
import { printable } from '../core/table.ts';
import { writeOut } from '../core/write-out.ts';
import { gdprPath, peopleOf, REQUEST, viewGdpr } from './gdpr-record.ts';

type Receipts = { receipts: { archives?: { sha256: string }[] }[] };

/** What they hold is for the person and for whoever asked. */
const OWN = 0o600;
const ARCHIVE = /\/api\/gdpr\/downloads\/[^/]+\/(?<ordinal>\d+)\/[^/]+$/;

/** The commands of `millrace gdpr` that fetch archives and receipts. */
export function addGdprEvidenceCommands(gdpr: Command, run: Run): void {
  gdpr.command('download').description('write the archives of a request for data into files, each compared with its receipt')
    .argument(...REQUEST).option('--to <folder>', 'where to', '.')
    .action((id: string, { to }: { to: string }) => run((context) => downloadAll(context, id, to)));
  gdpr.command('receipt').description('print the signed receipts of a request: `millrace verify` reads them')
    .argument(...REQUEST).option('--out <file>', 'write them into a file')
    .action((id: string, { out }: { out?: string }) => run((context) => printReceipts(context, id, out)));
}

async function downloadAll({ server, stdout, console }: CommandContext, id: string, folder: string): Promise<number> {
  const view = await viewGdpr(server, id);
  if (!view.download_urls) refuse(400, 'no_archives', `${id} is a request for deletion: it has no archives.`);
  const people = peopleOf(view);
  const archives = people.flatMap(([who, url]) => archiveOf(who, url));
  for (const [who, url] of people) if (archiveOf(who, url).length === 0) console.log(printable(`${who}: ${url ?? 'pending'}`));
  if (archives.length === 0) return people.some(([, url]) => url === null) ? 1 : 0;
  const known = new Set((await receiptsOf(server, id)).receipts.flatMap((receipt) => receipt.archives ?? []).map(({ sha256 }) => sha256));
  await mkdir(folder, { recursive: true });
  for (const { who, path, ordinal } of archives) {
    const file = join(folder, `${id}-${ordinal}.zip`);
    const sha256 = await save({ stdout }, await download(server, path), file);
    if (!known.has(sha256)) refuse(502, 'not_the_archive', `${file} is not what a receipt tells of: its SHA-256 is ${sha256}.`);
    console.log(printable(`${who}: ${file}`));
  }
  return people.some(([, url]) => url === null) ? 1 : 0;
}

/** Where it is on the server that is asked, which may have other names; none: there is a text instead. */
function archiveOf(who: string, url: string | null): { who: string; path: string; ordinal: string }[] {
  if (url === null || !URL.canParse(url)) return [];
  const { pathname } = new URL(url);
  const match = ARCHIVE.exec(pathname);
  return match ? [{ who, path: match[0], ordinal: match.groups!.ordinal! }] : [];
}

async function save(io: Pick<ProcessIo, 'stdout'>, pieces: AsyncIterable<Uint8Array>, file: string): Promise<string> {
  const hash = createHash('sha256');
  await writeOut(io, (async function* hashed() {
    for await (const piece of pieces) {
      hash.update(piece);
      yield piece;
    }
  })(), file, OWN);
  return hash.digest('hex');
}

function receiptsOf(server: Server, id: string): Promise<Receipts> {
  return call<Receipts>(server, 'GET', `${gdprPath(id)}/receipt`);
}

async function printReceipts({ server, stdout }: CommandContext, id: string, out: string | undefined): Promise<number> {
  await writeOut({ stdout }, [`${JSON.stringify(await receiptsOf(server, id), null, 2)}\n`], out);
  return 0;
}

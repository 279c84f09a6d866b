import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import protos from '@temporalio/proto';
import type { Client } from '@temporalio/client';
import { decryptStream } from '../../../domain/exports/file-encryption.ts';
import type { Database } from '../../../store/core/database.ts';
import type { Files } from '../../../store/core/files.ts';
import type { Secrets } from '../../../store/core/secrets.ts';
import { readings } from '../core/readings.ts';
import { fieldsOfTables } from '../core/table-fields.ts';
import { allHistories } from './history-search.ts';

/** What is looked for, by what a finding may call it: findings never quote it. */
export type Sought = Record<string, string>;

/** In which column, file or history what was found, and which encodings had to be undone, the outermost first. */
export type Finding = { where: string; what: string; through: readonly string[] };

/** All that Millrace keeps; a part that is left out is not searched. */
type Everywhere = {
  db?: Database;
  /** Opens what is sealed in the database. */
  secrets?: Secrets;
  files?: Files;
  /** By the name that a finding calls them; of some only the files whose names match. */
  folders?: Record<string, string | { folder: string; only: RegExp }>;
  temporal?: Client;
  /** Of exporters: whatever is encrypted by one of them is opened. */
  fileKeys?: { type: string; key: string }[];
};

/**
 * Where anything of what is sought stands: in plain text or in whatever encoding, in any case of its letters, or as a
 * plain hash.
 */
export async function searchEverywhere(everywhere: Everywhere, sought: Sought): Promise<Finding[]> {
  const findings = new Map<string, Finding>();
  for await (const { where, bytes } of pieces(everywhere)) {
    for (const { what, through } of await searchBytes(bytes, sought)) {
      const finding = { where: masked(where, sought), what, through };
      findings.set(
        JSON.stringify([finding.where, what]),
        findings.get(JSON.stringify([finding.where, what])) ?? finding,
      );
    }
  }
  return [...findings.values()];
}

type Piece = { where: string; bytes: Buffer };

async function* pieces({
  db,
  secrets,
  files,
  folders = {},
  temporal,
  fileKeys = [],
}: Everywhere): AsyncGenerator<Piece> {
  if (db) yield* fieldsOfTables(db, secrets);
  if (files) yield* filesOf(files, fileKeys);
  for (const [name, place] of Object.entries(folders)) {
    yield* typeof place === 'string' ? filesUnder(name, place) : filesUnder(name, place.folder, place.only);
  }
  if (temporal) yield* historiesOf(temporal);
}

/** Each file's key and content. */
async function* filesOf(files: Files, fileKeys: NonNullable<Everywhere['fileKeys']>): AsyncGenerator<Piece> {
  for await (const { key } of files.list('')) {
    const where = `files: ${key}`;
    yield { where, bytes: Buffer.from(key) };
    const bytes = await files.readAll(key);
    if (!bytes) continue;
    yield { where, bytes };
    for (const fileKey of fileKeys) yield { where, bytes: await decrypted(bytes, fileKey) };
  }
}

/** Empty where the key is another's. */
function decrypted(bytes: Buffer, { type, key }: { type: string; key: string }): Promise<Buffer> {
  return buffer(Readable.from([bytes]).pipe(decryptStream(type, key))).catch(() => Buffer.alloc(0));
}

async function* filesUnder(name: string, folder: string, only = /(?:)/): AsyncGenerator<Piece> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  for (const entry of entries.filter((found) => found.isFile() && only.test(found.name))) {
    const path = join(entry.parentPath, entry.name);
    const where = `${name}: ${path.slice(folder.length + 1)}`;
    yield { where, bytes: Buffer.from(where) };
    const bytes = await readFile(path).catch(() => null); // gone meanwhile
    if (bytes) yield { where, bytes };
  }
}

async function* historiesOf(temporal: Client): AsyncGenerator<Piece> {
  for await (const { workflowId, history } of allHistories(temporal)) {
    yield {
      where: `history of ${workflowId}`,
      bytes: Buffer.from(protos.temporal.api.history.v1.History.encode(history).finish()),
    };
  }
}

/** What of it is found in some bytes, each once. */
export async function searchBytes(bytes: Buffer, sought: Sought): Promise<Omit<Finding, 'where'>[]> {
  const found = new Map<string, Omit<Finding, 'where'>>();
  for await (const reading of readings(bytes)) {
    const text = reading.bytes.toString('latin1').toLowerCase();
    for (const [what, needles] of needlesOf(sought)) {
      if (!found.has(what) && needles.some((needle) => text.includes(needle)))
        found.set(what, { what, through: reading.through });
    }
  }
  return [...found.values()];
}

const prepared = new WeakMap<Sought, [string, string[]][]>();

/** Each as UTF-8, and its hashes that need no key, which name whoever is guessed; as Latin-1 has the bytes. */
function needlesOf(sought: Sought): [string, string[]][] {
  const known = prepared.get(sought);
  if (known) return known;
  const needles = Object.entries(sought).map(([what, value]): [string, string[]] => {
    const hashes = ['md5', 'sha1', 'sha256', 'sha512'].map((algorithm) => createHash(algorithm).update(value).digest());
    return [what, [Buffer.from(value), ...hashes].map((bytes) => bytes.toString('latin1').toLowerCase())];
  });
  prepared.set(sought, needles);
  return needles;
}

/** A file or a workflow may be named after somebody. */
function masked(where: string, sought: Sought): string {
  return Object.entries(sought).reduce((said, [what, value]) => said.replaceAll(value, `<${what}>`), where);
}

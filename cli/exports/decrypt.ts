/** The command `millrace decrypt`. */
import { mkdir, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import progress, { SingleBar } from 'cli-progress';
import type { Command } from 'commander';
import { Refusal, refuse } from '../../domain/core/refusal.ts';
import { ENCRYPTION_TYPES, parseEncryptionType } from '../../domain/exports/encryption-type.ts';
import { encryptionKeyError } from '../../domain/exports/file-encryption.ts';
import type { CommandContext, ProcessIo, Run } from '../core/command-context.ts';
import { readText } from '../core/read-text.ts';
import { decryptFile, type Decryption, printDecrypted, sizeOf } from './decrypt-file.ts';

type Options = { type: string; keyFile?: string; out?: string; gunzip?: true; force?: true };

const STDOUT = '-';

export const addDecryptCommand = (program: Command, run: Run) =>
  program
    .command('decrypt')
    .description('decrypt exported files without a server; the key is in a file, or in MILLRACE_EXPORT_KEY')
    .argument('<file...>', 'as the bucket has them')
    .requiredOption('--type <type>', `the exporter's encryption_type: ${ENCRYPTION_TYPES.join(', ')}`)
    .option('--key-file <file>', 'contains the key as the exporter has it: text, or hexadecimal digits')
    .option(
      '--out <path>',
      'a file, a folder (made if need be), or - for standard output; else beside each file, without .enc',
    )
    .option('--gunzip', 'uncompress, too')
    .option('--force', 'overwrite existing files')
    .action((files: string[], options: Options) => run((context) => decrypt(context, files, options)));

async function decrypt(
  { env, stdin, stdout, stderr, console }: CommandContext,
  files: string[],
  options: Options,
): Promise<number> {
  const { type, gunzip = false } = options;
  if (!parseEncryptionType(type)) refuse(400, 'bad_type', `--type is one of ${ENCRYPTION_TYPES.join(', ')}.`);
  const key = await readExportKey({ env, stdin }, type, options.keyFile);
  const targets = await targetsOf(files, options);
  const bar = new SingleBar(
    { format: '{bar} {percentage}% | {file}', gracefulExit: false, stream: stderr },
    progress.Presets.legacy,
  );
  const sizes = await Promise.allSettled(files.map(sizeOf));
  bar.start(
    sizes.reduce((sum, size) => sum + (size.status === 'fulfilled' ? size.value : 0), 0),
    0,
    { file: '' },
  );
  const decryption = { type, key, gunzip, stdout, onBytes: (bytes: number) => bar.increment(bytes) };
  const errors: string[] = [];
  for (const [nth, file] of files.entries()) {
    bar.update({ file: basename(file) });
    const error = await errorOf(decryptOne(file, targets[nth]!, decryption, options.force === true));
    if (error !== null) errors.push(`${file}: ${error}`);
  }
  bar.stop();
  for (const error of errors) console.error(error);
  if (errors.length > 0 && files.length > 1)
    console.error(`${errors.length} of ${files.length} files were not decrypted.`);
  return errors.length > 0 ? 1 : 0;
}

async function decryptOne(file: string, target: string, decryption: Decryption, isForced: boolean): Promise<void> {
  if (target === STDOUT) return printDecrypted(file, decryption);
  await sizeOf(file);
  if (!isForced && (await isThere(target))) {
    refuse(409, 'taken', `${target} is there already: --force writes over it.`);
  }
  return decryptFile(file, target, decryption);
}

async function targetsOf(files: string[], { out, gunzip }: Options): Promise<string[]> {
  const isFolder = out !== undefined && (await isFolderOrMade(out, files));
  if (out !== undefined && !isFolder) {
    if (files.length > 1) refuse(400, 'bad_out', `--out ${out} is no folder, and there is more than one file.`);
    return [out];
  }
  const targets = files.map((file) => join(isFolder ? out : dirname(file), nameWithout(file, gunzip)));
  const twice = targets.find((target, nth) => targets.indexOf(target) !== nth);
  return twice === undefined
    ? targets
    : refuse(400, 'bad_out', `Two files would become ${twice}: decrypt them one by one.`);
}

/** Returns whether the path is a folder; makes one if the path must be a folder. */
async function isFolderOrMade(out: string, files: string[]): Promise<boolean> {
  const found = await stat(out).catch(() => null);
  if (found || out === STDOUT || (files.length === 1 && !out.endsWith('/'))) return found?.isDirectory() === true;
  await mkdir(out, { recursive: true }).catch(({ code }: NodeJS.ErrnoException) =>
    refuse(400, 'bad_out', `--out ${out} cannot be made (${code}).`),
  );
  return true;
}

function nameWithout(file: string, gunzip: true | undefined): string {
  const name = basename(file);
  const bare = name.replace(/\.enc$/, '').replace(gunzip ? /\.gz$/ : /$/, '');
  return bare === name
    ? refuse(400, 'bad_out', `${file} does not end in .enc: name the file to write by --out.`)
    : bare;
}

const isThere = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

async function errorOf(work: Promise<void>): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    if (error instanceof Refusal) return error.message;
    throw error;
  }
}

/** Reads the key of an exporter's files from a file or the environment: other users can read a command line. */
async function readExportKey(
  io: Pick<ProcessIo, 'env' | 'stdin'>,
  type: string,
  keyFile: string | undefined,
): Promise<string> {
  const key = keyFile === undefined ? io.env.MILLRACE_EXPORT_KEY : await readKeyFile(io, type, keyFile);
  if (key === undefined)
    return refuse(400, 'no_key', 'There is no key: name its file by --key-file, or set MILLRACE_EXPORT_KEY.');
  const error = encryptionKeyError(type, key);
  const from = keyFile === undefined ? 'MILLRACE_EXPORT_KEY' : keyFile;
  return error === undefined ? key : refuse(400, 'bad_key', `${from}: ${error}.`);
}

/** Reads a key file without the line end that most editors add. */
async function readKeyFile(io: Pick<ProcessIo, 'stdin'>, type: string, path: string): Promise<string> {
  const text = await readText(io, path);
  return encryptionKeyError(type, text) === undefined ? text : text.replace(/\r?\n$/, '');
}

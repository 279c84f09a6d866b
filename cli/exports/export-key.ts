import { refuse } from '../../domain/core/refusal.ts';
import { encryptionKeyFault } from '../../domain/exports/file-encryption.ts';
import type { ProcessIo } from '../core/command-context.ts';
import { readText } from '../core/read-text.ts';

/** The key of an exporter's files, from a file or the environment: what stands on a command line, other users can read. */
export async function readExportKey(io: Pick<ProcessIo, 'env' | 'stdin'>, type: string, keyFile: string | undefined): Promise<string> {
  const key = keyFile === undefined ? io.env.MILLRACE_EXPORT_KEY : await readKeyFile(io, type, keyFile);
  if (key === undefined) return refuse(400, 'no_key', 'There is no key: name its file by --key-file, or set MILLRACE_EXPORT_KEY.');
  const fault = encryptionKeyFault(type, key);
  const from = keyFile === undefined ? 'MILLRACE_EXPORT_KEY' : keyFile;
  return fault === undefined ? key : refuse(400, 'bad_key', `${from}: ${fault}.`);
}

/** Most editors end a file with a line end that is none of the key. */
async function readKeyFile(io: Pick<ProcessIo, 'stdin'>, type: string, path: string): Promise<string> {
  const text = await readText(io, path);
  return encryptionKeyFault(type, text) === undefined ? text : text.replace(/\r?\n$/, '');
}

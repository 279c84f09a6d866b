import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { refuse } from '../../domain/core/refusal.ts';
import type { ProcessIo } from './command-context.ts';

/** Writes pieces as they come into the file that `path` names, or else to standard output. A new file gets these permissions. */
export async function writeOut(
  { stdout }: Pick<ProcessIo, 'stdout'>, pieces: Iterable<string> | AsyncIterable<string | Uint8Array>,
  path: string | undefined, mode = 0o666,
): Promise<void> {
  if (path === undefined) return pipeline(pieces, stdout, { end: false });
  return pipeline(pieces, createWriteStream(path, { mode })).catch((error: NodeJS.ErrnoException) => {
    if (error.syscall === undefined) throw error;
    refuse(400, 'unwritable', `${path} cannot be written (${error.code}).`);
  });
}

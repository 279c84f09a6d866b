import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { refuse } from '../../domain/core/refusal.ts';
import type { ProcessIo } from './command-context.ts';
import { readableText } from './readable.ts';

/**
 * Writes pieces into the file `path`, or to standard output; control characters are replaced on a terminal. A new file
 * gets these permissions.
 */
export async function writeOut(
  { stdout }: Pick<ProcessIo, 'stdout'>,
  pieces: Iterable<string> | AsyncIterable<string | Uint8Array>,
  path: string | undefined,
  mode = 0o666,
): Promise<void> {
  if (path === undefined)
    return pipeline((stdout as { isTTY?: boolean }).isTTY ? readablePieces(pieces) : pieces, stdout, { end: false });
  return pipeline(pieces, createWriteStream(path, { mode })).catch((error: NodeJS.ErrnoException) => {
    if (error.syscall === undefined) throw error;
    refuse(400, 'unwritable', `${path} cannot be written (${error.code}).`);
  });
}

async function* readablePieces(pieces: Iterable<string> | AsyncIterable<string | Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const piece of pieces)
    yield readableText(typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true }));
}

/** Output to files and terminals, without control characters. */
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { refuse } from '../../domain/core/refusal.ts';
import type { ProcessIo } from './command-context.ts';

/** Control characters but tabs and line ends: a terminal obeys them, even in quoted text. */
const CONTROLS = /(?![\t\n]|\r\n)\p{Cc}/gu;

export function readableText(text: string): string {
  return text.replace(CONTROLS, '\uFFFD');
}

/** Escapes control characters that JSON allows (DEL and above), without a change of meaning. */
export function escapeControls(json: string): string {
  return json.replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Writes into a file, or to standard output. Replaces control characters on a terminal. */
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

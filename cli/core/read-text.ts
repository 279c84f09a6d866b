import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { refuse } from '../../domain/core/refusal.ts';
import type { ProcessIo } from './command-context.ts';

/** Returns the text of the file `path`, or of standard input for `-`. Refuses a file that cannot be read. */
export async function readText({ stdin }: Pick<ProcessIo, 'stdin'>, path: string): Promise<string> {
  if (path === '-') return text(stdin);
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) =>
    refuse(400, 'unreadable', `${path} cannot be read (${error.code}).`),
  );
}

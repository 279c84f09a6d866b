import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { refuse } from '../../domain/core/refusal.ts';
import type { ProcessIo } from './command-context.ts';

/** All that the file has which `path` names, `-` for standard input. Refuses what cannot be read. */
export async function readText({ stdin }: Pick<ProcessIo, 'stdin'>, path: string): Promise<string> {
  if (path === '-') return text(stdin);
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) =>
    refuse(400, 'unreadable', `${path} cannot be read (${error.code}).`),
  );
}

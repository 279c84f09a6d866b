import { refuse } from '../../domain/core/refusal.ts';
import type { ProcessIo } from './command-context.ts';
import { readText } from './read-text.ts';

/** Ids of people, those given and those of a file with one a line (`-` is standard input), each once. Refuses where there are none. */
export async function readPeople(
  io: Pick<ProcessIo, 'stdin'>, given: readonly string[], file: string | undefined,
): Promise<string[]> {
  const listed = file === undefined ? [] : (await readText(io, file)).replace(/^\uFEFF/, '').split(/\r?\n/).filter((line) => line !== '');
  const people = [...new Set([...given, ...listed])];
  return people.length > 0 ? people : refuse(400, 'nobody', 'No user ids were given: name them, or give a --file with one a line.');
}

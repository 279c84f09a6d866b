import { refuse } from '../../domain/core/refusal.ts';
import type { ProcessIo } from './command-context.ts';
import { readText } from './read-text.ts';

/**
 * Returns the ids of people, from the arguments and from a file with one a line (`-` is standard input), each once.
 * Refuses an empty list, and an argument with a comma: a list of ids read as one id would match no person, and the
 * command would seem to succeed.
 */
export async function readPeople(
  io: Pick<ProcessIo, 'stdin'>,
  given: readonly string[],
  file: string | undefined,
): Promise<string[]> {
  const joined = given.find((id) => id.includes(','));
  if (joined !== undefined) {
    refuse(
      400,
      'comma',
      `"${joined}" has a comma: leave a space between two ids, and give an id that has a comma in a --file.`,
    );
  }
  const listed =
    file === undefined
      ? []
      : (await readText(io, file))
          .replace(/^\uFEFF/, '')
          .split(/\r?\n/)
          .filter((line) => line !== '');
  const people = [...new Set([...given, ...listed])];
  return people.length > 0
    ? people
    : refuse(400, 'nobody', 'No user ids were given: name them, or give a --file with one a line.');
}

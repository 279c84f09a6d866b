/** Input from files and standard input: texts, JSON, and ids of people. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { refuse } from '../../domain/core/refusal.ts';
import type { ProcessIo } from './command-context.ts';

export async function readText({ stdin }: Pick<ProcessIo, 'stdin'>, path: string): Promise<string> {
  if (path === '-') return text(stdin);
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) =>
    refuse(400, 'unreadable', `${path} cannot be read (${error.code}).`),
  );
}

/** Reads a JSON object from a file or `-`. Errors never quote its content, maybe a secret. `hint` says its form. */
export async function readJsonObject(
  io: Pick<ProcessIo, 'stdin'>,
  path: string,
  hint = 'write the settings as {"host": "db.example.com", …}',
): Promise<object> {
  const where = path === '-' ? 'Standard input' : path;
  const value = parse(await readText(io, path));
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  return refuse(400, 'no_object', `${where} is no JSON object: ${hint}.`);
}

function parse(content: string): unknown {
  try {
    return JSON.parse(content.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

/** Reads ids from arguments and a file, each once. Refuses an empty list, and a comma: such an id matches no person. */
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

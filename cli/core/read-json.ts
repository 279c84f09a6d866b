import { refuse } from '../../domain/core/refusal.ts';
import type { ProcessIo } from './command-context.ts';
import { readText } from './read-text.ts';

/**
 * Reads a JSON object from the file `path`, or standard input for `-`. Messages never quote its content, which may hold
 * secrets. `hint` says what it should be.
 */
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

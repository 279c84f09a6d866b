import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';

/**
 * Runs an installed command in the tree under `root` and gives what it printed. Status 0 is nothing found
 * and 1 or 2 something found; any other end, or silence about what was found, is thrown.
 */
export async function runTool(command: string, args: string[], root: string): Promise<string> {
  const program = resolve('node_modules', '.bin', command);
  const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  const [output, errors, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  const isFailed = typeof status !== 'number' || status > 2 || (status > 0 && output.trim() === '');
  if (isFailed) throw new Error(`${join(root, command)} ended with ${status}\n${output}${errors}`);
  return output;
}

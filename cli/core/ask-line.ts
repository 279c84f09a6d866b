import { createInterface } from 'node:readline/promises';
import type { ProcessIo } from './command-context.ts';
import { readableText } from './readable.ts';

/** Asks on the terminal, and returns the typed line. */
export async function askLine(
  { stdin, stderr }: Pick<ProcessIo, 'stdin' | 'stderr'>,
  question: string,
): Promise<string> {
  stderr.write(readableText(question));
  const lines = createInterface({ input: stdin });
  const { value: answer = '' } = (await lines[Symbol.asyncIterator]().next()) as { value?: string };
  lines.close();
  return answer.trim();
}

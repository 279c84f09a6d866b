import { readFile } from 'node:fs/promises';

/**
 * A block of commands of a page, and what stands above it in a comment: why it is not run, or the status other than 0
 * of one of them.
 */
export type ShellBlock = { page: string; line: number; code: string; notRun: string | null; status: number };

/** The blocks of commands of a page, in order. `page` is a path from the project's folder. */
export async function shellBlocks(page: string): Promise<ShellBlock[]> {
  const lines = (await readFile(new URL(`../../../${page}`, import.meta.url), 'utf8')).split('\n');
  const blocks: ShellBlock[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    if (lines[at] !== '```sh') continue;
    const end = lines.indexOf('```', at);
    const above = lines[at - 1] ?? '';
    blocks.push({
      page,
      line: at + 1,
      code: lines.slice(at + 1, end).join('\n'),
      notRun: /^<!-- not run: (.*) -->$/.exec(above)?.[1] ?? null,
      status: Number(/^<!-- exits with (\d+):/.exec(above)?.[1] ?? 0),
    });
    at = end;
  }
  return blocks;
}

import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { chooseLines } from './choose-lines.ts';
import { openContext } from './context.ts';
import type { Line, Size } from './line.ts';
import { LINES } from './lines.ts';
import { measureLines } from './measure-lines.ts';
import { type Figure, markdown } from './report.ts';

/**
 * `npm run bench [-- --quick] [-- --only LINE] [-- --json FILE]`: both sides of each figure are measured in this one
 * run.
 */
type Options = { lines: readonly Line[]; size: Size; json?: string };

const { lines, size, json } = readOptions();
const figures = await measure();
const [cpu] = cpus();
const machine = `${cpus().length} × ${cpu!.model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
console.log(`\n${new Date().toISOString().slice(0, 10)}, ${machine}\n\n${markdown(figures)}`);
if (json)
  await writeFile(
    json,
    JSON.stringify(
      figures.map(({ name, ratio, goal, reached }) => ({ name, ratio, goal, reached })),
      null,
      2,
    ),
  );

/** Ends the process if they are wrong. */
function readOptions(): Options {
  try {
    const {
      values: { quick, only, json: file },
    } = parseArgs({
      options: { quick: { type: 'boolean' }, only: { type: 'string', multiple: true }, json: { type: 'string' } },
    });
    const chosenSize = quick ? 'quick' : 'full';
    return { lines: chooseLines(LINES, only ?? [], chosenSize), size: chosenSize, json: file };
  } catch (error) {
    console.error((error as Error).message);
    process.exit(1);
  }
}

async function measure(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-bench-'));
  await chmod(folder, 0o711); // started as root, Postgres passes through it as another user
  const context = openContext(lines, size, folder);
  try {
    return await measureLines(lines, context, console.log);
  } finally {
    await context.close();
    await rm(folder, { recursive: true, force: true });
  }
}

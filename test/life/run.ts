import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { liveThrough } from './live-through.ts';

/**
 * `npm run life -- --minutes 10 --seed n`: walks through all features of a real service, and reports what does not
 * hold.
 */

const USAGE =
  'npm run life -- [--minutes 10] [--seed NUMBER] [--rate OPERATIONS_PER_SECOND] [--shrink-minutes 10] [--keep]';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string' },
    rate: { type: 'string', default: '8' },
    'shrink-minutes': { type: 'string', default: '10' },
    keep: { type: 'boolean', default: false },
  },
});
const [minutes = 0, rate = 0, shrinkMinutes = 0] = [values.minutes, values.rate, values['shrink-minutes']].map(Number);
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
if (![minutes, rate, shrinkMinutes, seed].every((number) => number >= 0)) throw new Error(USAGE);
const say = (line: string) => process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
const keepIn = values.keep ? await mkdtemp(join(tmpdir(), 'millrace-life-')) : undefined;

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

say(
  `seed ${seed}: ${minutes} minutes, at most ${rate} operations a second${keepIn === undefined ? '' : `, in ${keepIn}`}`,
);
const { findings, report } = await liveThrough({ seed, minutes, rate, shrinkMinutes, keepIn, say });
say(report);
process.exitCode = findings.length > 0 ? 1 : 0;

import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';

/** Internal errors in the logs of a run: who wrote them, and which of them tests have announced. */

/** Within the run's folder, a JSON document a line. */
const OWNERS_FILE = 'log-owners.list';
const EXPECTED_FILE = 'expected-faults.list';

const SOURCES = /^(?:worker|server)-.*\.log$/;

type Owner = { log: string; file: string };
type Expected = { step: string; file: string };
type Line = {
  level?: string | number;
  msg?: string;
  activity?: string;
  route?: string;
  method?: string;
  errorClass?: string;
};

/** Says that the servers or workers of this test file write a log, by its name in the run's folder. */
export function ownLog(log: string): void {
  note(OWNERS_FILE, { log, file: currentFile() } satisfies Owner);
}

/** Keeps a line of a log that is not in the run's folder, if it tells of an internal error. */
export function keepFault(line: Line): void {
  if (!isError(line)) return;
  const log = `server-${randomUUID()}.log`;
  ownLog(log);
  note(log, line);
}

/**
 * Announces an internal error that this test file brings about: by the name of the step, or method and route of the
 * request.
 */
export function expectFault(step: string): void {
  note(EXPECTED_FILE, { step, file: currentFile() } satisfies Expected);
}

/**
 * The internal errors in the logs of a folder that no test announced, each with the test file whose server or worker
 * wrote it.
 */
export async function unexpectedFaults(folder: string): Promise<string[]> {
  const owners = Map.groupBy(await readLines<Owner>(folder, OWNERS_FILE), ({ log }) => log);
  const expected = new Set(
    (await readLines<Expected>(folder, EXPECTED_FILE)).map(({ step, file }) => `${file} ${step}`),
  );
  const found = new Set<string>();
  for (const log of (await readdir(folder)).filter((name) => SOURCES.test(name))) {
    const files = (owners.get(log) ?? [{ file: 'a test that did not call ownLog' }]).map(({ file }) => file);
    for (const line of (await readFile(join(folder, log), 'utf8')).split('\n').map(readLine)) {
      if (line === null || !isError(line)) continue;
      const step = line.activity ?? [line.method, line.route].filter(Boolean).join(' ');
      if (files.some((file) => expected.has(`${file} ${step}`))) continue;
      found.add(`${files.join(', ')}: ${step} ${line.msg ?? ''} (${line.errorClass ?? 'see'} in ${log})`);
    }
  }
  return [...found];
}

function isError({ level }: Line): boolean {
  return level === 'error' || level === 'fatal' || (typeof level === 'number' && level >= 50);
}

function readLine(line: string): Line | null {
  if (!line.startsWith('{')) return null;
  try {
    return JSON.parse(line) as Line;
  } catch {
    return null; // a process was killed while it wrote
  }
}

async function readLines<T>(folder: string, name: string): Promise<T[]> {
  const text = await readFile(join(folder, name), 'utf8').catch(() => '');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as T);
}

function note(name: string, line: object): void {
  appendFileSync(join(inject('runFolder'), name), `${JSON.stringify(line)}\n`);
}

/** Of hooks, too, which `expect.getState()` does not know the file of. */
function currentFile(): string {
  const { filepath = '' } = (globalThis as { __vitest_worker__?: { filepath?: string } }).__vitest_worker__ ?? {};
  return filepath.split('/test/').at(-1)!;
}

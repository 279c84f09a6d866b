import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command, Commands } from '../../../connectors/commands/commands-file.ts';
import type { PreparedSource } from '../../connectors/core/contract.ts';
import { personId, rememberSecret } from '../core/people.ts';

/** Commands by their names, with what an operator mostly leaves out. */
export function commandsOf(entries: Record<string, Partial<Command> & Pick<Command, 'kind' | 'command'>>): Commands {
  const usual = { env: {}, timeoutMinutes: 2, memoryMib: 2_048, catalogOption: '--catalog' as const };
  return new Map(Object.entries(entries).map(([name, entry]) => [name, { ...usual, ...entry }]));
}

/** A program of this folder, as a command. */
function harnessProgram(file: string): string[] {
  return [process.execPath, fileURLToPath(new URL(file, import.meta.url))];
}

type SampleRow = { id: number; name: string | null; changed_at: string };

export type SampleSource = PreparedSource & { folder: string };

const COUNT = 12_000;

/** What the sample programs read, with one of them as the command `sample`. */
export async function sampleRecords(kind: Command['kind'], file: string, stream: string): Promise<SampleSource> {
  const folder = await mkdtemp(join(tmpdir(), 'millrace-sample-'));
  const token = `zqtoken-${kind}-right`;
  const wrong = `zqtoken-${kind}-wrong`;
  for (const secret of [token, wrong]) rememberSecret(secret);
  const records = Array.from({ length: COUNT }, (_, nth) => row(nth));
  const write = (rows: SampleRow[]) =>
    writeFile(join(folder, 'records.jsonl'), rows.map((one) => JSON.stringify(one)).join('\n'));
  await write(records);
  await writeFile(join(folder, 'deletions'), '');
  let rows = records;
  await writeFile(join(folder, 'token'), token);
  return {
    folder,
    stream,
    records,
    cursorField: 'changed_at',
    settings: { tap: 'sample', config: { folder, token } },
    wrong: { settings: { tap: 'sample', config: { folder, token: wrong } }, says: /the token \*\*\* is wrong/ },
    commands: commandsOf({ sample: { kind, command: harnessProgram(file) } }),
    async change() {
      const changed = Array.from({ length: 100 }, (_, nth) => ({ ...row(COUNT + nth), id: nth }));
      rows = [...records.slice(100), ...changed];
      await write(rows);
      return changed;
    },
    async remove() {
      const gone = rows[200]!;
      const deletedAt = kind === 'singer' ? '_sdc_deleted_at' : '_ab_cdc_deleted_at';
      const { changed_at: now } = row(2 * COUNT);
      rows = [...rows.filter((one) => one !== gone), { id: gone.id, name: null, changed_at: now, [deletedAt]: now }];
      await write(rows);
      return gone;
    },
    async spoil() {
      await writeFile(join(folder, 'spoil'), '{"type": "RECORD", "record": {"id": 7, "na\n');
      return /not JSON/;
    },
    stop: () => rm(folder, { recursive: true }),
  };
}

function row(nth: number): SampleRow {
  const changed = new Date(Date.UTC(2026, 0, 1) + nth * 60_000).toISOString();
  return { id: nth, name: nth % 10 === 0 ? null : personId(nth), changed_at: changed };
}

/** A program that prints these messages, whatever it is asked for, and ends with this status. */
export function printing(messages: unknown[], status = 0): string[] {
  const lines = messages.map((message) => (typeof message === 'string' ? message : JSON.stringify(message)));
  return ['/bin/sh', '-c', `printf '%s\\n' "$0"; exit ${status}`, lines.join('\n')];
}

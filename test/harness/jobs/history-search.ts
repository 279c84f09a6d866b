import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Client } from '@temporalio/client';
import protos, { type temporal } from '@temporalio/proto';

type History = temporal.api.history.v1.IHistory;
const proto = protos.temporal.api.history.v1.History;

/** Where a mark was found: in which workflow, and in what it says around it. */
export type Finding = { where: string; mark: string };

/** All histories of a namespace, also of closed workflows. */
export async function* allHistories(client: Client): AsyncGenerator<{ workflowId: string; history: History }> {
  for await (const { workflowId, runId } of client.workflow.list()) {
    yield { workflowId, history: await client.workflow.getHandle(workflowId, runId).fetchHistory() };
  }
}

/**
 * What finds any of them in a text in small letters: a run of all tests has thousands, and a text is gone through once
 * for all.
 */
export type Marks = RegExp;

export function marksOf(texts: readonly string[]): Marks {
  return new RegExp(texts.map((text) => RegExp.escape(text.toLowerCase())).join('|'), 'g');
}

/** The marks, as they stand anywhere in a history: in plain text, or in a payload of whatever nesting. */
export function marksIn(history: History, marks: Marks): string[] {
  return marksInBytes(Buffer.from(proto.encode(history).finish()), marks);
}

/**
 * Everything that Temporal's database holds, value by value: histories of all namespaces, also of closed workflows, and
 * what it keeps of open ones, as the details of heartbeats. Read from its file: by calls, the histories of a whole run
 * take minutes.
 */
export function* storedByTemporal(path: string): Generator<{ table: string; column: string; bytes: Buffer }> {
  const db = new DatabaseSync(path, { readOnly: true, timeout: 60_000 });
  try {
    const tables = db.prepare(`SELECT name FROM sqlite_master WHERE type = 'table'`).all() as { name: string }[];
    for (const { name: table } of tables) {
      if (table.includes('_fts_')) continue; // the index of a column, which is searched itself
      const rows = db.prepare(`SELECT * FROM "${table}"`);
      rows.setReadBigInts(true);
      for (const row of rows.iterate()) {
        for (const [column, value] of Object.entries(row)) {
          if (typeof value === 'string' || value instanceof Uint8Array)
            yield { table, column, bytes: Buffer.from(value as string) };
        }
      }
    }
  } finally {
    db.close();
  }
}

/** How often base64 is looked for within what was decoded. */
const DEPTH = 3;

/**
 * The same of what Temporal has stored, in which histories are so encoded. Payloads hold JSON as bytes, which base64
 * within base64 could hide: every such run is decoded in turn, but for those that are `searched` already, as ids are
 * that stand in each event of a history.
 */
export function marksInBytes(bytes: Buffer, marks: Marks, searched = new Set<string>(), depth = 0): string[] {
  const text = bytes.toString('latin1');
  const here = marksInText(text, marks);
  if (depth === DEPTH) return here;
  const runs = (text.match(/[A-Za-z0-9+/_-]{16,}={0,2}/g) ?? []).filter((run) => !searched.has(run));
  const within = runs.flatMap((run) => {
    searched.add(run);
    return [0, 1, 2, 3].flatMap((skip) =>
      marksInBytes(Buffer.from(run.slice(skip), 'base64'), marks, searched, depth + 1),
    );
  });
  return [...new Set([...here, ...within])];
}

/** Not by `matchAll`, which would compile thousands of marks anew for each text. */
function marksInText(text: string, marks: Marks): string[] {
  const lowered = text.toLowerCase();
  const found: string[] = [];
  marks.lastIndex = 0;
  for (let match = marks.exec(lowered); match; match = marks.exec(lowered)) {
    found.push(text.slice(match.index, match.index + match[0].length));
  }
  return found;
}

/** The marks that stand in the files of a folder whose names match, and how many bytes those files have. */
export async function marksInLogs(
  folder: string,
  name: RegExp,
  marks: Marks,
): Promise<{ bytes: number; findings: Finding[] }> {
  const files = (await readdir(folder)).filter((file) => name.test(file));
  let bytes = 0;
  const findings: Finding[] = [];
  for (const file of files) {
    const content = await readFile(join(folder, file));
    bytes += content.length;
    findings.push(...marksInText(content.toString('latin1'), marks).map((mark) => ({ where: file, mark })));
  }
  return { bytes, findings };
}

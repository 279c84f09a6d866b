import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '@temporalio/client';
import { temporal as proto } from '@temporalio/proto';

type History = proto.api.history.v1.IHistory;

/** Where a mark was found: in which workflow, and in what it says around it. */
export type Finding = { where: string; mark: string };

/** All histories of a namespace, also of closed workflows. */
export async function* allHistories(client: Client): AsyncGenerator<{ workflowId: string; history: History }> {
  for await (const { workflowId, runId } of client.workflow.list()) {
    yield { workflowId, history: await client.workflow.getHandle(workflowId, runId).fetchHistory() };
  }
}

/** What finds any of them in a text in small letters: a run of all tests has thousands, and a text is gone through once for all. */
export type Marks = RegExp;

export function marksOf(texts: readonly string[]): Marks {
  return new RegExp(texts.map((text) => RegExp.escape(text.toLowerCase())).join('|'), 'g');
}

/** The marks, as they stand anywhere in a history: in plain text, or in a payload of whatever nesting. */
export function marksIn(history: History, marks: Marks): string[] {
  const bytes = proto.api.history.v1.History.encode(history).finish();
  return found(Buffer.from(bytes), marks);
}

/** How often base64 is looked for within what was decoded. */
const DEPTH = 3;

/** Payloads hold JSON as bytes, which base64 within base64 could hide: every such run is decoded in turn. */
function found(bytes: Buffer, marks: Marks, depth = 0): string[] {
  const text = bytes.toString('latin1');
  const here = Array.from(text.toLowerCase().matchAll(marks), ({ index, 0: mark }) => text.slice(index, index + mark.length));
  if (depth === DEPTH) return here;
  const encoded = text.match(/[A-Za-z0-9+/_-]{16,}={0,2}/g) ?? [];
  const within = encoded.flatMap((run) => [0, 1, 2, 3].flatMap((skip) => found(Buffer.from(run.slice(skip), 'base64'), marks, depth + 1)));
  return [...new Set([...here, ...within])];
}

/** The marks that stand in the files of a folder whose names match, and how many bytes those files have. */
export async function marksInLogs(
  folder: string, name: RegExp, marks: Marks,
): Promise<{ bytes: number; findings: Finding[] }> {
  const files = (await readdir(folder)).filter((file) => name.test(file));
  let bytes = 0;
  const findings: Finding[] = [];
  for (const file of files) {
    const content = await readFile(join(folder, file));
    bytes += content.length;
    findings.push(...found(content, marks, DEPTH).map((mark) => ({ where: file, mark })));
  }
  return { bytes, findings };
}

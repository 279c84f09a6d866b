/** Lists the errors of an import, a feed's request or a run, as tables, JSON or CSV. */
import { pipeline } from 'node:stream';
import { Option } from 'commander';
import pick from 'stream-json/filters/pick.js';
import streamArray from 'stream-json/streamers/stream-array.js';
import { stringify } from '../../api/client.ts';
import { Refusal, refuse } from '../../domain/core/refusal.ts';
import type { CommandContext, Server } from '../core/command-context.ts';
import { escapeControls, writeOut } from '../core/write-out.ts';
import { type Column, fixedHead, fixedRow, sayValue } from '../core/table.ts';

type ListedError = {
  line: number;
  error_type: string;
  customer_id: string | null;
  key: string | null;
  message: string;
  record_key?: Record<string, unknown> | null;
  column?: string | null;
  /** The re-drive that brought the row after all. */
  redriven_by: string | null;
};

export type ErrorsOptions = { type?: string; json?: boolean; csv?: boolean; output?: string };

type ErrorSource = {
  reply: AsyncIterable<Uint8Array>;
  member: string;
  /** Name of line 0: the whole file, or the first value of a feed. */
  lineZero: string;
  heads: ErrorHeads;
};

type ErrorHeads = { line: string; customer: string; key: string; column?: string };

export const IMPORT_HEADS: ErrorHeads = { line: 'line', customer: 'customer', key: 'key' };
export const TABLE_HEADS: ErrorHeads = { ...IMPORT_HEADS, column: 'column' };
/** Heads for a run: its records have ordinals, and keys at destinations other than attributes. */
export const RUN_HEADS: ErrorHeads = { line: 'record', customer: 'customer or key', key: 'field' };

const PAGE = 100;
const columns = ({ line, customer, key, column }: ErrorHeads): Column[] => [
  { head: line, width: 9 },
  ...(column === undefined ? [] : [{ head: column, width: 20 }]),
  { head: 'error', width: 21 },
  { head: customer, width: 32 },
  { head: key, width: 24 },
  { head: 'reason', width: 40 },
];

export function errorOptions({ json, csv }: { json: string; csv: string }): Option[] {
  return [
    new Option('--type <error_type>', 'only those of one type, such as INVALID_VALUE'),
    new Option('--json', json),
    new Option('--csv', csv).conflicts('json'),
    new Option('--output <file>', 'write into a file'),
  ];
}

/** Prints errors as they arrive: there may be millions. */
export async function printErrorList(
  context: CommandContext,
  source: ErrorSource,
  { json, output }: ErrorsOptions,
): Promise<number> {
  const errors = parseErrors(context.server, source);
  const width = output === undefined ? context.terminal.width : null;
  await writeOut(
    context,
    json ? pages(errors, (error) => escapeControls(stringify(error))) : tablePages(errors, source, width),
    output,
  );
  return 0;
}

/** Yields errors one by one, so that the list need not fit into memory. */
async function* parseErrors(server: Server, { reply, member }: ErrorSource): AsyncGenerator<ListedError> {
  const parser = pick.withParserAsStream({ filter: `result.${member}`, packValues: true, streamValues: false });
  try {
    // A failure on the way ends the last stream with its error.
    const elements = pipeline(reply, parser, streamArray.asStream(), () => {}) as AsyncIterable<{ value: ListedError }>;
    for await (const { value } of elements) yield value;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    refuse(
      502,
      'bad_reply',
      `${server.url} answered with something else than a list of errors: is it a Millrace server?`,
    );
  }
}

async function* tablePages(
  errors: AsyncIterable<ListedError>,
  source: ErrorSource,
  width: number | null,
): AsyncGenerator<string> {
  const shape = columns(source.heads);
  let head: string | null = fixedHead(shape, width);
  for await (const page of pages(errors, (error) => fixedRow(shape, cellsOf(error, source), width))) {
    yield (head ?? '') + page;
    head = null;
  }
  if (head !== null) yield 'no errors\n';
}

function cellsOf(
  {
    line,
    error_type: type,
    customer_id: customer,
    record_key: recordKey,
    key,
    message,
    column,
    redriven_by: settledBy,
  }: ListedError,
  { lineZero, heads }: ErrorSource,
): string[] {
  const shownColumn = heads.column === undefined ? [] : [column ?? ''];
  const reason = settledBy === null ? message : `settled by ${settledBy}: ${message}`;
  return [
    line === 0 ? lineZero : String(line),
    ...shownColumn,
    type,
    recordKey ? sayKey(recordKey) : (customer ?? ''),
    key ?? '',
    reason,
  ];
}

function sayKey(key: Record<string, unknown>): string {
  const parts = Object.entries(key).map(([field, value]) => [field, sayValue(value)] as const);
  return parts.length === 1 ? parts[0]![1] : parts.map(([field, value]) => `${field}=${value}`).join(' ');
}

async function* pages(
  errors: AsyncIterable<ListedError>,
  show: (error: ListedError) => string,
): AsyncGenerator<string> {
  let page: string[] = [];
  for await (const error of errors) {
    if (page.push(`${show(error)}\n`) < PAGE) continue;
    yield page.join('');
    page = [];
  }
  if (page.length > 0) yield page.join('');
}

import { pipeline } from 'node:stream';
import { Option } from 'commander';
import pick from 'stream-json/filters/pick.js';
import streamArray from 'stream-json/streamers/stream-array.js';
import { download, type Server } from './client.ts';
import { type Column, fixedHead, fixedRow } from './table.ts';
import { writeOut } from './write-out.ts';
import { Refusal, refuse } from '../domain/refusal.ts';

/** A row of an import or a record of a run that was not written, or not wholly. */
type ListedError = { line: number; error_type: string; customer_id: string | null; key: string | null; message: string };

export type ErrorsOptions = { type?: string; json?: boolean; csv?: boolean; output?: string };

/** Where errors are asked for. */
type ErrorSource = {
  path: string;
  /** Where they stand in the answer. */
  member: string;
  /** What the line 0 is called: the whole file, or of a feed the first of its values. */
  lineZero: string;
};

/** So many errors are printed at a time. */
const PAGE = 100;
const COLUMNS: Column[] = [
  { head: 'line', width: 9 }, { head: 'error', width: 21 }, { head: 'customer', width: 32 }, { head: 'key', width: 24 },
  { head: 'reason', width: 40 },
];

/** The options that all lists of errors take. */
export function errorOptions({ json, csv }: { json: string; csv: string }): Option[] {
  return [
    new Option('--type <error_type>', 'only those of one type, such as INVALID_VALUE'),
    new Option('--json', json),
    new Option('--csv', csv).conflicts('json'),
    new Option('--output <file>', 'write into a file'),
  ];
}

/** Prints errors as they come: there may be millions. */
export async function printErrorList(server: Server, source: ErrorSource, { json, output }: ErrorsOptions): Promise<number> {
  const errors = parseErrors(server, source, await download(server, source.path));
  await writeOut(json ? pages(errors, (error) => JSON.stringify(error)) : tablePages(errors, source.lineZero), output);
  return 0;
}

/** The errors within the answer, one after another, so that the list need not fit into memory. */
async function* parseErrors(server: Server, { member }: ErrorSource, reply: AsyncIterable<Uint8Array>): AsyncGenerator<ListedError> {
  const parser = pick.withParserAsStream({ filter: `result.${member}`, packValues: true, streamValues: false });
  try {
    // What fails on the way ends the last stream with its error.
    const elements = pipeline(reply, parser, streamArray.asStream(), () => {}) as AsyncIterable<{ value: ListedError }>;
    for await (const { value } of elements) yield value;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    refuse(502, 'bad_reply', `${server.url} answered with something else than a list of errors: is it a Millrace server?`);
  }
}

async function* tablePages(errors: AsyncIterable<ListedError>, lineZero: string): AsyncGenerator<string> {
  let head = `${fixedHead(COLUMNS)}\n`;
  for await (const page of pages(errors, (error) => tableLine(error, lineZero))) {
    yield head + page;
    head = '';
  }
  if (head !== '') yield 'no errors\n';
}

function tableLine({ line, error_type: type, customer_id: customer, key, message }: ListedError, lineZero: string): string {
  return fixedRow(COLUMNS, [line === 0 ? lineZero : String(line), type, customer ?? '', key ?? '', message]);
}

async function* pages(errors: AsyncIterable<ListedError>, show: (error: ListedError) => string): AsyncGenerator<string> {
  let page: string[] = [];
  for await (const error of errors) {
    if (page.push(`${show(error)}\n`) < PAGE) continue;
    yield page.join('');
    page = [];
  }
  if (page.length > 0) yield page.join('');
}

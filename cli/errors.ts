import { pipeline } from 'node:stream';
import { Command, Option } from 'commander';
import pick from 'stream-json/filters/pick.js';
import streamArray from 'stream-json/streamers/stream-array.js';
import { download, type Server } from './client.ts';
import { run } from './run.ts';
import { type Column, fixedHead, fixedRow } from './table.ts';
import { writeOut } from './write-out.ts';
import { Refusal, refuse } from '../domain/refusal.ts';

type ImportError = {
  line: number; error_type: string; customer_id: string | null; key: string | null; message: string; raw: string | null;
};
type ErrorsOptions = { type?: string; json?: boolean; csv?: boolean; output?: string };

/** So many errors are printed at a time. */
const PAGE = 100;
const COLUMNS: Column[] = [
  { head: 'line', width: 9 }, { head: 'error', width: 21 }, { head: 'customer', width: 32 }, { head: 'key', width: 24 },
  { head: 'reason', width: 40 },
];

export const errorsCommand = new Command('errors')
  .description('list the rows of an import that changed nothing, each with its line and reason')
  .argument('<import_id>', 'or the requestId of a JSON feed')
  .option('--type <error_type>', 'only those of one type, such as INVALID_VALUE')
  .option('--json', 'one JSON object a line, with the row as it stood in the file')
  .addOption(new Option('--csv', 'the rows as a CSV file, to be corrected and given to `millrace redrive`').conflicts('json'))
  .option('--output <file>', 'write into a file')
  .action((id: string, options: ErrorsOptions) => run((server) => printErrors(server, id, options)));

/** Prints what became of each row that changed nothing, as it comes: there may be millions. */
async function printErrors(server: Server, id: string, { type, json, csv, output }: ErrorsOptions): Promise<number> {
  const query = new URLSearchParams(type === undefined ? {} : { error_type: type });
  if (csv) {
    await writeOut(await download(server, `/api/attribute_values/imports/${encodeURIComponent(id)}/errors.csv?${query}`), output);
    return 0;
  }
  query.set('import_id', id);
  const errors = parseErrors(server, await download(server, `/api/attribute_values/import_errors?${query}`));
  // Line 0 is the file as a whole; of a feed, the first of its values.
  const first = id.startsWith('req_') ? '0' : 'file';
  await writeOut(json ? pages(errors, (error) => JSON.stringify(error)) : tablePages(errors, first), output);
  return 0;
}

/** The errors within the answer, one after another, so that the list need not fit into memory. */
async function* parseErrors(server: Server, reply: AsyncIterable<Uint8Array>): AsyncGenerator<ImportError> {
  const parser = pick.withParserAsStream({ filter: 'result.attribute_errors', packValues: true, streamValues: false });
  try {
    // What fails on the way ends the last stream with its error.
    const elements = pipeline(reply, parser, streamArray.asStream(), () => {}) as AsyncIterable<{ value: ImportError }>;
    for await (const { value } of elements) yield value;
  } catch (error) {
    if (error instanceof Refusal) throw error;
    refuse(502, 'bad_reply', `${server.url} answered with something else than a list of errors: is it a Millrace server?`);
  }
}

async function* tablePages(errors: AsyncIterable<ImportError>, lineZero: string): AsyncGenerator<string> {
  let head = `${fixedHead(COLUMNS)}\n`;
  for await (const page of pages(errors, (error) => tableLine(error, lineZero))) {
    yield head + page;
    head = '';
  }
  if (head !== '') yield 'no errors\n';
}

function tableLine({ line, error_type: type, customer_id: customer, key, message }: ImportError, lineZero: string): string {
  return fixedRow(COLUMNS, [line === 0 ? lineZero : String(line), type, customer ?? '', key ?? '', message]);
}

async function* pages(errors: AsyncIterable<ImportError>, show: (error: ImportError) => string): AsyncGenerator<string> {
  let page: string[] = [];
  for await (const error of errors) {
    if (page.push(`${show(error)}\n`) < PAGE) continue;
    yield page.join('');
    page = [];
  }
  if (page.length > 0) yield page.join('');
}

import { Command } from 'commander';
import { download, type Server } from './client.ts';
import { errorOptions, type ErrorsOptions, IMPORT_HEADS, printErrorList } from './error-list.ts';
import { run } from './run.ts';
import { writeOut } from './write-out.ts';

export const errorsCommand = new Command('errors')
  .description('list the rows of an import that changed nothing, each with its line and reason')
  .argument('<import_id>', 'or the requestId of a JSON feed')
  .action((id: string, options: ErrorsOptions) => run((server) => printErrors(server, id, options)));
for (const option of errorOptions({
  json: 'one JSON object a line, with the row as it stood in the file',
  csv: 'the rows as a CSV file, to be corrected and given to `millrace redrive`',
})) errorsCommand.addOption(option);

/** Prints what became of each row that changed nothing. */
async function printErrors(server: Server, id: string, options: ErrorsOptions): Promise<number> {
  const query = new URLSearchParams(options.type === undefined ? {} : { error_type: options.type });
  if (options.csv) {
    await writeOut(await download(server, `/api/attribute_values/imports/${encodeURIComponent(id)}/errors.csv?${query}`), options.output);
    return 0;
  }
  query.set('import_id', id);
  const lineZero = id.startsWith('req_') ? '0' : 'file';
  const path = `/api/attribute_values/import_errors?${query}`;
  return printErrorList(server, { path, member: 'attribute_errors', lineZero, heads: IMPORT_HEADS }, options);
}

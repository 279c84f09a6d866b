import type { Command } from 'commander';
import type { CommandContext, Run } from '../core/command-context.ts';
import { writeOut } from '../core/write-out.ts';
import { errorOptions, type ErrorsOptions, IMPORT_HEADS, printErrorList } from '../imports/error-list.ts';

export function addErrorsCommand(program: Command, run: Run): void {
  const command = program.command('errors')
    .description('list the rows of an import that changed nothing, each with its line and reason')
    .argument('<import_id>', 'or the requestId of a JSON feed')
    .action((id: string, options: ErrorsOptions) => run((context) => printErrors(context, id, options)));
  for (const option of errorOptions({
    json: 'one JSON object a line, with the row as it stood in the file',
    csv: 'the rows as a CSV file, to be corrected and given to `millrace redrive`',
  })) command.addOption(option);
}

/** Prints what became of each row that changed nothing. */
async function printErrors(context: CommandContext, id: string, options: ErrorsOptions): Promise<number> {
  const { stream } = context.client;
  const query = { error_type: options.type };
  if (options.csv) {
    await writeOut(context, await stream.downloadImportErrors({ params: { import_id: id }, query }), options.output);
    return 0;
  }
  const reply = await stream.listImportErrors({ query: { ...query, import_id: id } });
  const lineZero = id.startsWith('req_') ? '0' : 'file';
  return printErrorList(context, { reply, member: 'attribute_errors', lineZero, heads: IMPORT_HEADS }, options);
}

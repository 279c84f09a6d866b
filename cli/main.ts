import { Command } from 'commander';
import type { Server } from './client.ts';
import { printErrors } from './errors.ts';
import { importFile } from './import.ts';
import { login } from './login.ts';
import { Refusal } from '../domain/refusal.ts';

/** Exit statuses: 0 all well, 1 the command could not be done, 2 it was done and rows failed. */
const FAILED = 1;

const server = (): Server => ({ url: process.env.MILLRACE_URL ?? 'http://127.0.0.1:8080', token: process.env.MILLRACE_TOKEN });

const program = new Command('millrace')
  .description('The command line of a Millrace server. MILLRACE_URL names the server, MILLRACE_TOKEN who asks.')
  .showHelpAfterError();

program.command('login')
  .description('print a token; the password is read from standard input')
  .argument('<email>')
  .action((email: string) => run(() => login(server(), email)));

program.command('import')
  .description('import a CSV file of attribute values, gzipped or not')
  .argument('<file>')
  .requiredOption('--sor <identifier>', 'the System of Record to import into')
  .option('--api-key <key>', 'the SoR\'s key; fetched by MILLRACE_TOKEN when left out')
  .action((file: string, options: { sor: string; apiKey?: string }) => run(() => importFile(server(), file, options)));

program.command('errors')
  .description('list the rows of an import that changed nothing, each with its line and reason')
  .argument('<import_id>')
  .option('--type <error_type>', 'only those of one type, such as INVALID_VALUE')
  .option('--json', 'one JSON object a line, with the row as it stood in the file', false)
  .action((id: string, options: { type?: string; json: boolean }) => run(() => printErrors(server(), id, options)));

async function run(work: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await work();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    console.error(error.message);
    process.exitCode = FAILED;
  }
}

await program.parseAsync();

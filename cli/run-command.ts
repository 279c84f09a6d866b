import { Console } from 'node:console';
import { Command, CommanderError } from 'commander';
import { addCancelCommand } from './cancel.ts';
import type { ProcessIo, Run } from './command-context.ts';
import { addConnectionsCommand } from './connections.ts';
import { addDecryptCommand } from './decrypt.ts';
import { addErrorsCommand } from './errors.ts';
import { addExportersCommand } from './exporters.ts';
import { addGdprCommand } from './gdpr.ts';
import { addImportCommand } from './import.ts';
import { addLoginCommand } from './login.ts';
import { addRedriveCommand } from './redrive.ts';
import { addStatusCommand } from './status.ts';
import { addSyncCommand } from './sync.ts';
import { addSyncsCommand } from './syncs.ts';
import { addTemplateCommand } from './template.ts';
import { addTokensCommand } from './tokens.ts';
import { addUsersCommand } from './users.ts';
import { addVerifyDocumentCommand } from './verify.ts';
import { Refusal } from '../domain/refusal.ts';

const addCommands: ((program: Command, run: Run) => unknown)[] = [
  addLoginCommand, addTemplateCommand, addImportCommand, addStatusCommand, addErrorsCommand, addRedriveCommand, addCancelCommand,
  addUsersCommand, addTokensCommand, addConnectionsCommand, addSyncsCommand, addSyncCommand,
  addExportersCommand, addDecryptCommand, addGdprCommand, addVerifyDocumentCommand,
];

/** The command could not be done. */
const FAILED = 1;

/** Does what the arguments ask for, of the server that the environment names, and returns the exit status. */
export async function runCommand(args: readonly string[], { env, stdin, stdout, stderr }: ProcessIo): Promise<number> {
  const console = new Console(stdout, stderr);
  const server = { url: env.MILLRACE_URL ?? 'http://127.0.0.1:8080', token: env.MILLRACE_TOKEN };
  let status = 0;
  const run: Run = async (work) => { status = await work({ env, stdin, stdout, stderr, server, console }); };
  const program = new Command('millrace')
    .description('The command line of a Millrace server. MILLRACE_URL names the server, MILLRACE_TOKEN who asks.')
    .showHelpAfterError()
    .configureOutput({ writeOut: (text) => stdout.write(text), writeErr: (text) => stderr.write(text) })
    .exitOverride();
  for (const addCommand of addCommands) addCommand(program, run);
  try {
    await program.parseAsync(args, { from: 'user' });
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode;        // what was wrong, or the help, has been printed
    if (!(error instanceof Refusal)) throw error;
    console.error(error.message);
    return FAILED;
  }
}

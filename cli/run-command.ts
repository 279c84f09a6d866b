import { Console } from 'node:console';
import { Command, CommanderError } from 'commander';
import { Refusal } from '../domain/core/refusal.ts';
import { addLoginCommand } from './accounts/login.ts';
import { addTokensCommand } from './accounts/tokens.ts';
import { addUsersCommand } from './accounts/users.ts';
import type { ProcessIo, Run } from './core/command-context.ts';
import { openClient } from './core/open-client.ts';
import { addDecryptCommand } from './exports/decrypt.ts';
import { addExportersCommand } from './exports/exporters.ts';
import { addGdprCommand } from './gdpr/gdpr.ts';
import { addVerifyDocumentCommand } from './gdpr/verify.ts';
import { addImportCommands } from './imports/import-commands.ts';
import { addConnectionsCommand } from './syncs/connections.ts';
import { addSyncCommand } from './syncs/sync.ts';
import { addSyncsCommand } from './syncs/syncs.ts';

const addCommands: ((program: Command, run: Run) => unknown)[] = [
  addLoginCommand, addImportCommands, addUsersCommand, addTokensCommand, addConnectionsCommand, addSyncsCommand, addSyncCommand,
  addExportersCommand, addDecryptCommand, addGdprCommand, addVerifyDocumentCommand,
];

/** The command could not be done. */
const FAILED = 1;

/** Does what the arguments ask for, of the server that the environment names, and returns the exit status. */
export async function runCommand(args: readonly string[], { env, stdin, stdout, stderr }: ProcessIo): Promise<number> {
  const console = new Console(stdout, stderr);
  const server = { url: env.MILLRACE_URL ?? 'http://127.0.0.1:8080', token: env.MILLRACE_TOKEN };
  let status = 0;
  const run: Run = async (work) => { status = await work({ env, stdin, stdout, stderr, server, client: openClient(server), console }); };
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

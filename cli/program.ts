import addCompletion from '@bomb.sh/tab/commander';
import { Command, Option, type OutputConfiguration } from 'commander';
import { addAuditCommand } from './accounts/audit.ts';
import { addEntitiesCommand } from './accounts/entities.ts';
import { addLoginCommand } from './accounts/login.ts';
import { addTokensCommand } from './accounts/tokens.ts';
import { addUsersCommand } from './accounts/users.ts';
import { addAppsCommand } from './apps/apps.ts';
import { addLabelsCommand } from './apps/labels.ts';
import { addAttributesCommand } from './attributes/attributes.ts';
import { addProfileCommand } from './attributes/profile.ts';
import { addSorsCommand } from './attributes/sors.ts';
import type { Run } from './core/command-context.ts';
import { addDecryptCommand } from './exports/decrypt.ts';
import { addExportersCommand } from './exports/exporters.ts';
import { addGdprCommand } from './gdpr/gdpr.ts';
import { addVerifyDocumentCommand } from './gdpr/verify.ts';
import { addImportCommands } from './imports/import-commands.ts';
import { addAttentionCommand } from './jobs/attention.ts';
import { addConnectionsCommand } from './syncs/connections.ts';
import { addSyncCommand } from './syncs/sync.ts';
import { addSyncsCommand } from './syncs/syncs.ts';

const addCommands: ((program: Command, run: Run) => unknown)[] = [
  addLoginCommand, addSorsCommand, addAttributesCommand, addProfileCommand, addImportCommands, addConnectionsCommand, addSyncsCommand,
  addSyncCommand, addAppsCommand, addLabelsCommand, addExportersCommand, addDecryptCommand, addGdprCommand, addVerifyDocumentCommand,
  addUsersCommand, addTokensCommand, addEntitiesCommand, addAuditCommand, addAttentionCommand,
];
/** They print a file, or write several. */
const WITHOUT_JSON = ['template', 'decrypt', 'receipt'];

type Surroundings = {
  version: string;
  output?: OutputConfiguration;
  /** Called before a command runs. */
  setJson?: (isJson: boolean) => void;
};

/** All commands. */
export function buildProgram(run: Run, { version, output = {}, setJson = () => {} }: Surroundings): Command {
  const program = new Command('millrace')
    .description('The command line of a Millrace server. MILLRACE_URL names the server, MILLRACE_TOKEN who asks.')
    .version(version)
    .configureOutput(output)
    .showHelpAfterError()
    .exitOverride();
  for (const addCommand of addCommands) addCommand(program, run);
  const json = new Option('--json', 'print what the server answers as JSON, and nothing else');
  const ours = leavesOf(program).filter((command) =>
    !WITHOUT_JSON.includes(command.name()) && !command.options.some(({ long }) => long === '--json'));
  for (const command of ours) command.addOption(json);
  program.hook('preAction', (_, command) => setJson(ours.includes(command) && command.opts<{ json?: true }>().json === true));
  addCompletion(program, { completionCommandName: 'completion' });
  return program;
}

/** The commands that do something. */
export function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

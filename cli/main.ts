import { Command } from 'commander';
import { cancelCommand } from './cancel.ts';
import { connectionsCommand } from './connections.ts';
import { decryptCommand } from './decrypt.ts';
import { errorsCommand } from './errors.ts';
import { exportersCommand } from './exporters.ts';
import { gdprCommand } from './gdpr.ts';
import { importCommand } from './import.ts';
import { loginCommand } from './login.ts';
import { redriveCommand } from './redrive.ts';
import { endQuietlyOnBrokenPipe } from './run.ts';
import { statusCommand } from './status.ts';
import { syncCommand } from './sync.ts';
import { syncsCommand } from './syncs.ts';
import { templateCommand } from './template.ts';
import { tokensCommand } from './tokens.ts';
import { usersCommand } from './users.ts';
import { verifyDocumentCommand } from './verify.ts';

const commands = [
  loginCommand, templateCommand, importCommand, statusCommand, errorsCommand, redriveCommand, cancelCommand,
  usersCommand, tokensCommand, connectionsCommand, syncsCommand, syncCommand,
  exportersCommand, decryptCommand, gdprCommand, verifyDocumentCommand,
];

const program = new Command('millrace')
  .description('The command line of a Millrace server. MILLRACE_URL names the server, MILLRACE_TOKEN who asks.')
  .showHelpAfterError();
for (const command of commands) program.addCommand(command.copyInheritedSettings(program));

endQuietlyOnBrokenPipe();
await program.parseAsync();

import { Command } from 'commander';
import { addExporterCommands } from './exporter-commands.ts';
import { verifyCommand } from './exporters-verify.ts';

export const exportersCommand = new Command('exporters').description('daily exports to S3');

addExporterCommands(exportersCommand);
exportersCommand.addCommand(verifyCommand);

import type { Command } from 'commander';
import type { Run } from '../core/command-context.ts';
import { addExporterCommands } from './exporter-commands.ts';
import { addVerifyCommand } from './exporters-verify.ts';

export function addExportersCommand(program: Command, run: Run): void {
  const exporters = program.command('exporters').description('daily exports to S3');
  addExporterCommands(exporters, run);
  addVerifyCommand(exporters, run);
}

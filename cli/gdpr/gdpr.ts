import type { Command } from 'commander';
import type { Run } from '../core/command-context.ts';
import { addGdprEvidenceCommands } from './gdpr-evidence.ts';
import { addGdprIdentifierCommands } from './gdpr-identifiers.ts';
import { addGdprPeopleCommands } from './gdpr-people.ts';
import { addGdprRequestCommands } from './gdpr-requests.ts';

export function addGdprCommand(program: Command, run: Run): void {
  const gdpr = program.command('gdpr').description('requests of people for their data or its deletion, and holds');
  addGdprRequestCommands(gdpr, run);
  addGdprEvidenceCommands(gdpr, run);
  addGdprPeopleCommands(gdpr, run);
  addGdprIdentifierCommands(gdpr, run);
}

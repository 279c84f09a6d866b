import { Command } from 'commander';
import { addGdprEvidenceCommands } from './gdpr-evidence.ts';
import { addGdprPeopleCommands } from './gdpr-people.ts';
import { addGdprRequestCommands } from './gdpr-requests.ts';

export const gdprCommand = new Command('gdpr')
  .description('requests of people for their data or its deletion, and who must not be deleted');

addGdprRequestCommands(gdprCommand);
addGdprEvidenceCommands(gdprCommand);
addGdprPeopleCommands(gdprCommand);

/** The program `millrace` with all its commands. */
import { Command, Option, type OutputConfiguration } from 'commander';
import type { Run } from './core/command-context.ts';

type AddCommand = (program: Command, run: Run) => unknown;

/** Commands by module, in the order of the help. Loads only the named one: all take longer than most commands run. */
const MODULES: { names: readonly string[]; load: () => Promise<AddCommand> }[] = [
  { names: ['login'], load: async () => (await import('./accounts/login.ts')).addLoginCommand },
  { names: ['sors'], load: async () => (await import('./attributes/sors.ts')).addSorsCommand },
  { names: ['attributes'], load: async () => (await import('./attributes/attributes.ts')).addAttributesCommand },
  { names: ['profile'], load: async () => (await import('./attributes/profile.ts')).addProfileCommand },
  {
    names: ['import', 'redrive', 'template', 'status', 'errors', 'cancel'],
    load: async () => (await import('./imports/import-commands.ts')).addImportCommands,
  },
  { names: ['imports'], load: async () => (await import('./imports/import-list.ts')).addImportsCommand },
  { names: ['feeds'], load: async () => (await import('./imports/import-list.ts')).addFeedsCommand },
  { names: ['connections'], load: async () => (await import('./syncs/connections.ts')).addConnectionsCommand },
  { names: ['syncs'], load: async () => (await import('./syncs/syncs.ts')).addSyncsCommand },
  { names: ['sync'], load: async () => (await import('./syncs/sync.ts')).addSyncCommand },
  { names: ['people'], load: async () => (await import('./analytics/people.ts')).addPeopleCommand },
  { names: ['usage'], load: async () => (await import('./analytics/usage.ts')).addUsageCommand },
  { names: ['funnels'], load: async () => (await import('./analytics/funnels.ts')).addFunnelsCommand },
  { names: ['segments'], load: async () => (await import('./analytics/segments.ts')).addSegmentsCommand },
  { names: ['apps'], load: async () => (await import('./apps/apps.ts')).addAppsCommand },
  { names: ['push'], load: async () => (await import('./sends/push.ts')).addPushCommand },
  { names: ['sends'], load: async () => (await import('./sends/sends.ts')).addSendsCommand },
  { names: ['campaigns'], load: async () => (await import('./campaigns/campaigns.ts')).addCampaignsCommand },
  { names: ['labels'], load: async () => (await import('./apps/labels.ts')).addLabelsCommand },
  { names: ['exporters'], load: async () => (await import('./exports/exporters.ts')).addExportersCommand },
  { names: ['decrypt'], load: async () => (await import('./exports/decrypt.ts')).addDecryptCommand },
  { names: ['gdpr'], load: async () => (await import('./gdpr/gdpr.ts')).addGdprCommand },
  { names: ['verify'], load: async () => (await import('./gdpr/verify.ts')).addVerifyDocumentCommand },
  { names: ['users'], load: async () => (await import('./accounts/users.ts')).addUsersCommand },
  { names: ['tokens'], load: async () => (await import('./accounts/tokens.ts')).addTokensCommand },
  { names: ['entities'], load: async () => (await import('./accounts/entities.ts')).addEntitiesCommand },
  { names: ['audit'], load: async () => (await import('./accounts/audit.ts')).addAuditCommand },
  { names: ['attention'], load: async () => (await import('./jobs/attention.ts')).addAttentionCommand },
  { names: ['health'], load: async () => (await import('./jobs/health.ts')).addHealthCommand },
];
/** Commands that print a file or write several. */
const WITHOUT_JSON = ['template', 'decrypt', 'receipt'];

type Surroundings = {
  version: string;
  output?: OutputConfiguration;
  setJson?: (isJson: boolean) => void;
};

/** Builds the program with the module of one command (`named`), or with all. */
export async function buildProgram(
  run: Run,
  { version, output = {}, setJson = () => {} }: Surroundings,
  named?: string,
): Promise<Command> {
  const program = new Command('millrace')
    .description('The command line of a Millrace server. MILLRACE_URL names the server, MILLRACE_TOKEN who asks.')
    .version(version)
    .configureOutput(output)
    .showHelpAfterError()
    .exitOverride();
  const own = MODULES.filter(({ names }) => named !== undefined && names.includes(named));
  const isAll = own.length === 0;
  for (const { load } of isAll ? MODULES : own) (await load())(program, run);
  const json = new Option('--json', "print the server's answer as JSON, and nothing else");
  const ours = leavesOf(program).filter(
    (command) => !WITHOUT_JSON.includes(command.name()) && !command.options.some(({ long }) => long === '--json'),
  );
  for (const command of ours) command.addOption(json);
  program.hook('preAction', (_, command) =>
    setJson(ours.includes(command) && command.opts<{ json?: true }>().json === true),
  );
  if (isAll) (await import('@bomb.sh/tab/commander')).default(program, { completionCommandName: 'completion' });
  return program;
}

export function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

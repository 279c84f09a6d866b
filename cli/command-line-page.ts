/** Writes docs/command-line.md from the commands. */
import type { Command } from 'commander';
import { buildProgram, leavesOf } from './program.ts';

const HEAD = `# The command line

Set up and use a server from a shell: each command is a client of the HTTP interface.

Made by \`npm run docs\` from the command itself.

## Having it on the PATH

The package is not published: the name is free in the public registry, and a bare \`npx\` outside of the clone would run what a stranger
put there, with your token. Use one of these instead:

| you want | do |
|---|---|
| the command in the clone | \`npx --no-install millrace\`, which never asks a registry |
| it anywhere on this machine | \`npm link\` in the clone; from then on \`millrace\` is on the PATH |
| it on another machine | \`npm pack\` in the clone, then there \`npm install -g --allow-scripts=node ./millrace-0.1.0.tgz\` |
| it beside a server in a container | \`docker compose exec serve node cli/millrace.js\` |

The other pages write \`millrace\` for any of these.

## Settings and answers

\`MILLRACE_URL\` names the server, by default \`http://127.0.0.1:8080\`. \`MILLRACE_TOKEN\` is what \`millrace login\` prints, or a service
token. A System of Records (SoR) is given by its name or its identifier. For an unknown name the error suggests the nearest one.

With \`--json\` a command prints the API's result as one JSON document, and nothing else: a list as an array, a
long one as a page with its \`items\`. A refusal goes to standard error. The
\`errors\` commands, and \`apps tail\` without \`--once\`, print one object a line.

A command that follows something (\`apps tail\`, an import, a run) continues after a restart of the server: it says that the server does not
answer, asks again for up to ten minutes, and says that it answers again.

Without \`--json\`, tables fit the terminal: long cells are cut, the last column is wrapped, and empty
columns are left out. If the output is no terminal, nothing is cut.

The exit status is 0 for success, 1 if the command failed, and 2 if it ran and rows failed. A command that
deletes asks first; without a terminal it needs \`--yes\`.

\`millrace profile\` shows the attributes that have a value; \`--all\` shows the others, too. \`millrace entities add\` asks for the
entity's time zone at a terminal; elsewhere it takes the machine's, as the first start of a server does.

## Completion

| shell | put into | this line |
|---|---|---|
| bash | \`~/.bashrc\` | \`source <(millrace completion bash)\` |
| zsh | \`~/.zshrc\` | \`source <(millrace completion zsh)\` |
| fish | \`~/.config/fish/config.fish\` | \`millrace completion fish \\| source\` |

## Commands
`;

export async function commandLinePage(): Promise<string> {
  const program = await buildProgram(async () => {}, { version: '' });
  const groups = program
    .createHelp()
    .visibleCommands(program)
    .filter((command) => command.name() !== 'help');
  const single = groups.filter((command) => command.commands.length === 0);
  const sections = groups
    .filter((command) => command.commands.length > 0)
    .map((group) => `### ${group.name()}\n\n${sentence(group.description())}\n\n${rows(leavesOf(group))}`);
  return `${[HEAD, rows(single), ...sections].join('\n')}`;
}

function rows(commands: Command[]): string {
  const lines = commands.map((command) => `| \`${escape(usage(command))}\` | ${escape(about(command))} |`);
  return ['| command | does |', '|---|---|', ...lines, ''].join('\n');
}

function usage(command: Command): string {
  const names: string[] = [];
  for (let one: Command | null = command; one; one = one.parent) names.unshift(one.name());
  const args = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [...names, ...args].join(' ');
}

function about(command: Command): string {
  const options = command.options
    .filter(({ long }) => long !== '--json')
    .map(({ flags, description, argChoices }) =>
      [`\`${flags}\``, description || (argChoices ?? []).join(', ')].filter((part) => part !== '').join(': '),
    );
  return [sentence(command.description()), ...options].join('<br>');
}

const escape = (text: string) => text.replaceAll('|', '\\|');
const sentence = (text: string) => `${text[0]!.toUpperCase()}${text.slice(1)}.`;

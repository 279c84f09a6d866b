/** Groups of commands about one kind of thing: lists, records and deletions. */
import { type Command, Option } from 'commander';
import type { CommandContext, Run } from './command-context.ts';
import { confirmDeletion, YES, type YesOption } from './ask.ts';
import { printable, sayValue, table } from './table.ts';

export type Group<T> = {
  name: string;
  description: string;
  columns: Record<string, (item: T) => string>;
  commands: GroupCommand<T>[];
};

type GroupCommand<T> = {
  name: string;
  description: string;
  isDefault?: true;
  args?: readonly (readonly [name: string, description?: string])[];
  options?: readonly (readonly [flags: string, description?: string] | Option)[];
  /** Names what would be deleted; the command asks before it deletes. */
  deletes?: (context: CommandContext, ...args: string[]) => Promise<string>;
  /** Prints the result: items as rows of the group's columns, a text as it is, a record member by member. */
  does(
    context: CommandContext,
    options: never,
    ...args: never[]
  ): Promise<T | T[] | string | { record: object } | void>;
};

export function addGroup<T>(program: Command, run: Run, { name, description, columns, commands }: Group<T>): Command {
  const group = program.command(name).description(description);
  for (const one of commands) {
    const command = group.command(one.name, { isDefault: one.isDefault === true }).description(one.description);
    for (const [argument, about] of one.args ?? []) command.argument(argument, about);
    const options = [...(one.options ?? []), ...(one.deletes ? [YES] : [])];
    for (const option of options)
      command.addOption(option instanceof Option ? option : new Option(...(option as [string, string?])));
    command.action((...given: unknown[]) =>
      run(async (context) => {
        const args = given.slice(0, command.registeredArguments.length) as string[];
        const asked = command.opts<YesOption>();
        if (one.deletes) await confirmDeletion(context, printable(await one.deletes(context, ...args)), asked.yes);
        print(context, columns, await one.does(context, asked as never, ...(args as never[])));
        return 0;
      }),
    );
  }
  return group;
}

function print<T>(
  { console, terminal: { width } }: CommandContext,
  columns: Group<T>['columns'],
  result: T | T[] | string | { record: object } | void,
): void {
  if (result === undefined) return;
  if (typeof result === 'string') console.log(result);
  else if (isRecord(result)) console.log(recordTable(result.record, width));
  else {
    const rows = ([result].flat() as T[]).map((item) => Object.values(columns).map((cell) => cell(item)));
    console.log(table(Object.keys(columns), rows, width));
  }
}

function isRecord(result: unknown): result is { record: object } {
  return typeof result === 'object' && result !== null && 'record' in result;
}

export function recordTable(record: object, width: number | null): string {
  const rows = Object.entries(record)
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => [name, sayValue(value)]);
  return table(['member', 'value'], rows, width);
}

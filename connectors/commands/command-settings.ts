import { z } from 'zod';
import { type ConnectorContext, secret } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import type { Command } from './commands-file.ts';
import { type Redact, secretRedactor } from './secret-redactor.ts';

/** What the connectors that run a command are set by. */
export const commandSettings = z.object({
  tap: z
    .string("is the name of one of the operator's commands")
    .describe("The command, by its name in the operator's file MILLRACE_TAPS"),
  config: secret(
    z.record(z.string(), z.unknown(), 'is an object: what the command takes as its configuration'),
  ).describe("The command's own configuration, as its documentation tells; secret as a whole"),
});

export type CommandSettings = { tap: string; config: Record<string, unknown> };

/** An entry of the operator's file with what a user has set for it. */
export type NamedCommand = { name: string; command: Command; config: string; redact: Redact };

/** Refuses a name that no entry of this kind has. */
export function findCommand(
  kind: Command['kind'],
  settings: CommandSettings,
  { commands }: ConnectorContext,
): NamedCommand {
  const command = commands.get(settings.tap);
  if (command?.kind !== kind) {
    const known = [...commands].filter(([, entry]) => entry.kind === kind).map(([name]) => name);
    const choice =
      known.length === 0
        ? `and none of the kind ${kind} is there`
        : `those of the kind ${kind} are ${known.join(', ')}`;
    const message = `tap: no ${kind} command has this name in the file that an operator names in MILLRACE_TAPS, ${choice}`;
    throw sourceRefusal('source_refused', message);
  }
  const redact = secretRedactor([settings.config, command.env]);
  return { name: settings.tap, command, config: JSON.stringify(settings.config), redact };
}

import { z } from 'zod';
import { type ConnectorContext, secret } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import type { Command } from './commands-file.ts';

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

/** Takes the secrets out of a text, and what may be a part of a record: JSON and addresses of mail. */
type Redact = (text: string) => string;

/** A shorter text is masked only where it stands alone, or it would take the log's own words apart. */
const SHORT = 4;

/**
 * Masks every text within the values, also where it is written as in JSON or in a URL. A value of several lines is
 * masked line by line, since a log is read so. Numbers of up to seven digits stay, unless their name says that they are
 * secret: a page size or a port is often the same as a count that a log tells.
 */
export function secretRedactor(values: unknown[]): Redact {
  const lines = values
    .flatMap((value) => textsIn(value, false))
    .flatMap((text) => text.split(/\r?\n/))
    .filter((line) => line.trim() !== '');
  const texts = new Set(lines.flatMap(spellings));
  if (texts.size === 0) return withoutData;
  // The longest first: one may hold another.
  const alternatives = [...texts].toSorted((a, b) => b.length - a.length).map(pattern);
  const secrets = new RegExp(alternatives.join('|'), 'gu');
  return (text) => withoutData(text.replace(secrets, '***'));
}

const RECORD = /(?:\{|\[(?=\s*[{["'\]])).*/s;
/**
 * Begins where a word does: else each character of a long word would be tried as the first, and a line may have 4 MiB.
 */
const MAIL_ADDRESS = /(?<![^\s@"'<>(])[^\s@"'<>(]+@[^\s@"'<>)]+/g;

/** Programs say what they could not read by quoting it. */
function withoutData(text: string): string {
  return text.replace(RECORD, '…').replace(MAIL_ADDRESS, '***');
}

/** Parts of names under which settings hold secrets. */
const SECRET_NAME = /pass|pwd|secret|token|key|credential|auth|signature|(?:^|_)pin(?:$|_)/i;
const COUNT = /^\d{1,7}$/;

/** `isSecret`: a name above says so. */
function textsIn(value: unknown, isSecret: boolean): string[] {
  if (typeof value === 'string' || typeof value === 'number') {
    const text = String(value);
    return !isSecret && COUNT.test(text) ? [] : [text];
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => textsIn(member, isSecret || SECRET_NAME.test(name)));
}

function spellings(text: string): string[] {
  return [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text.toWellFormed())];
}

function pattern(text: string): string {
  const literal = text.replace(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
  return [...text].length < SHORT ? String.raw`(?<![\p{L}\p{N}])${literal}(?![\p{L}\p{N}])` : literal;
}

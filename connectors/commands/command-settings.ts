/** Settings of connectors that run a command, and redaction of the command's texts. */
import { z } from 'zod';
import { type ConnectorContext, secret } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';
import type { Command } from './commands-file.ts';

/** Settings of connectors that run a command. */
export const commandSettings = z.object({
  tap: z
    .string("is the name of one of the operator's commands")
    .describe("The command, by its name in the operator's file MILLRACE_TAPS"),
  config: secret(
    z.record(z.string(), z.unknown(), 'is an object: what the command takes as its configuration'),
  ).describe("The command's own configuration, as its documentation tells; secret as a whole"),
});

export type CommandSettings = { tap: string; config: Record<string, unknown> };

/** An entry of the operator's file, with a user's settings for it. */
export type NamedCommand = { name: string; command: Command; config: string; redact: Redact };

/** Refuses a name without an entry of this kind. */
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

/** Removes secrets from a text, and possible parts of records: JSON and mail addresses. */
type Redact = (text: string) => string;

/** A shorter text is redacted only as a whole word: otherwise it would break up the log's own words. */
const SHORT = 4;

/**
 * Redacts every text in the values, also as written in JSON or in a URL. A value of several lines is redacted line by
 * line, because a log is read so. Numbers of up to seven digits stay, unless their name marks them as secret: a page
 * size or a port is often equal to a count in a log.
 */
export function secretRedactor(values: unknown[]): Redact {
  const lines = values
    .flatMap((value) => textsIn(value, false))
    .flatMap((text) => text.split(/\r?\n/))
    .filter((line) => line.trim() !== '');
  const texts = new Set(lines.flatMap(spellings));
  if (texts.size === 0) return withoutData;
  // Longest first: one may contain another.
  const alternatives = [...texts].toSorted((a, b) => b.length - a.length).map(pattern);
  const secrets = new RegExp(alternatives.join('|'), 'gu');
  return (text) => withoutData(text.replace(secrets, '***'));
}

const RECORD = /\{|\[(?=\s*[{["'\]])/;

/** Removes quoted data: programs quote what they could not read. */
function withoutData(text: string): string {
  const at = text.search(RECORD);
  return withoutAddresses(at === -1 ? text : `${text.slice(0, at)}…`);
}

/** Characters that end a mail address on its left and on its right. */
const LEFT_OF_ADDRESS = /[\s@"'<>(]/;
const RIGHT_OF_ADDRESS = /[\s@"'<>)]/;

/** Removes mail addresses. An expression over a word of a line of up to 4 MiB can exceed its engine's stack. */
function withoutAddresses(text: string): string {
  let kept = '';
  let done = 0;
  for (let at = text.indexOf('@'); at !== -1; at = text.indexOf('@', at + 1)) {
    let from = at;
    while (from > done && !LEFT_OF_ADDRESS.test(text[from - 1]!)) from -= 1;
    let to = at + 1;
    while (to < text.length && !RIGHT_OF_ADDRESS.test(text[to]!)) to += 1;
    if (from === at || to === at + 1) continue;
    kept += `${text.slice(done, from)}***`;
    done = to;
  }
  return kept + text.slice(done);
}

/** Parts of names of settings that hold secrets. */
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

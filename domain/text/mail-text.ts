/** Text of mails: lines, columns, paragraphs and reasons of failures. */

export const MAX_NAME = 60;

export function aligned(counts: [string, number][]): string[] {
  const names = Math.max(...counts.map(([name]) => name.length));
  const digits = Math.max(...counts.map(([, count]) => thousands(count).length));
  return counts.map(([name, count]) => `  ${name.padEnd(names)}  ${thousands(count).padStart(digits)}`);
}

/** Formats a number with commas between thousands, whatever the machine's language. */
export function thousands(count: number): string {
  return count.toLocaleString('en-US');
}

/** Control characters, Unicode line ends, and marks that change the direction of writing. */
const UNPRINTED = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069\s]+/gu;

/** Returns a text on one line, cut to `max` code points. */
export function oneLine(text: string, max: number = Infinity): string {
  const line = text.toWellFormed().replaceAll(UNPRINTED, ' ').trim();
  if (line.length <= max) return line;
  // This number of UTF-16 units holds more than `max` code points, if the line does.
  const codePoints = Array.from(line.slice(0, max * 2 + 2));
  return codePoints.length <= max ? line : `${codePoints.slice(0, max - 1).join('')}…`;
}

/** Returns a mail's text from its paragraphs, each a text or its lines. Empty paragraphs are left out. */
export function mailText(paragraphs: readonly (string | readonly string[])[]): string {
  const texts = paragraphs.map((lines) => [lines].flat()).filter((lines) => lines.length > 0);
  return `${texts.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

/** Reasons why a run failed, by the status of its failure. An outside system's own words stay with the run. */
const REASONS: Record<string, string> = {
  address_refused: 'Millrace may not reach the address that is set.',
  schema_changed: 'The fields of the source have changed.',
  source_changed: 'The source changed while it was read.',
  source_refused: 'The outside system, or its settings, must be corrected first.',
  source_unavailable: 'The outside system could not be reached, or could not serve.',
  too_large: 'The source holds more than Millrace takes.',
  transfer_broken: 'The transfer broke off.',
};

/** Returns why a run failed in our words: mails may reach strangers, so they quote nothing of a user. */
export function reasonOf(status: string): string {
  return `${Object.hasOwn(REASONS, status) ? REASONS[status]! : 'It could not go on.'} The link shows the details.`;
}

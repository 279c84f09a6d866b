/** Code points of an identifier in a mail. */
export const MAX_NAME = 60;

/** Names with their counts, a line each, in columns. */
export function aligned(counts: [string, number][]): string[] {
  const names = Math.max(...counts.map(([name]) => name.length));
  const digits = Math.max(...counts.map(([, count]) => thousands(count).length));
  return counts.map(([name, count]) => `  ${name.padEnd(names)}  ${thousands(count).padStart(digits)}`);
}

/** Commas between thousands, whatever the machine's language. */
export function thousands(count: number): string {
  return count.toLocaleString('en-US');
}

/** Control characters, line ends of Unicode, and marks that turn the direction of writing. */
const UNPRINTED = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069\s]+/gu;

/** Text on one line, cut to `max` code points. */
export function oneLine(text: string, max: number = Infinity): string {
  const line = text.toWellFormed().replaceAll(UNPRINTED, ' ').trim();
  if (line.length <= max) return line;
  // So many UTF-16 units hold more than `max` code points, if the line does.
  const codePoints = Array.from(line.slice(0, max * 2 + 2));
  return codePoints.length <= max ? line : `${codePoints.slice(0, max - 1).join('')}…`;
}

/** The text of a mail by its paragraphs, each a text or its lines; one without lines is left out. */
export function mailText(paragraphs: readonly (string | readonly string[])[]): string {
  const texts = paragraphs.map((lines) => [lines].flat()).filter((lines) => lines.length > 0);
  return `${texts.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

/** What made a run fail, by the status of its failure. An outside system's own words stay with the run. */
const REASONS: Record<string, string> = {
  address_refused: 'Millrace may not reach the address that is set.',
  schema_changed: 'The fields of the source have changed.',
  source_changed: 'The source changed while it was read.',
  source_refused: 'The outside system, or its settings, must be corrected first.',
  source_unavailable: 'The outside system could not be reached, or could not serve.',
  too_large: 'The source holds more than Millrace takes.',
  transfer_broken: 'The transfer broke off.',
};

/**
 * Says in our own words why a run failed. A mail goes to addresses that anybody may have named: names, settings and
 * messages, which somebody else chose, would let them write to strangers in our name.
 */
export function reasonOf(status: string): string {
  return `${Object.hasOwn(REASONS, status) ? REASONS[status]! : 'It could not go on.'} The link shows the details.`;
}

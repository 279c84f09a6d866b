/** Code points of a name, and of a reason, in a mail. */
export const MAX_NAME = 60;
export const MAX_REASON = 300;

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

/** Users' text on one line, cut to `max` code points. */
export function oneLine(text: string, max: number = Infinity): string {
  const line = text.toWellFormed().replaceAll(UNPRINTED, ' ').trim();
  if (line.length <= max) return line;
  // So many UTF-16 units hold more than `max` code points, if the line does.
  const codePoints = Array.from(line.slice(0, max * 2 + 2));
  return codePoints.length <= max ? line : `${codePoints.slice(0, max - 1).join('')}…`;
}

/** A mail can't be erased: what a message quotes may be a person's. */
export function withoutQuotation(message: string): string {
  const start = message.indexOf('"');
  if (start === -1) return message;
  const end = message.lastIndexOf('"');
  return `${message.slice(0, start)}"…"${end > start ? message.slice(end + 1) : ''}`;
}

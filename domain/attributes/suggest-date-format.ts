/** What other ways of writing dates call what Luxon's tokens tell (C's strftime). */
const STRFTIME: Record<string, string> = {
  Y: 'yyyy',
  y: 'yy',
  m: 'MM',
  d: 'dd',
  e: 'd',
  H: 'HH',
  I: 'hh',
  M: 'mm',
  S: 'ss',
  f: 'SSS',
  p: 'a',
  z: 'ZZZ',
  b: 'LLL',
  B: 'LLLL',
  a: 'EEE',
  A: 'EEEE',
  j: 'ooo',
  F: 'yyyy-MM-dd',
  T: 'HH:mm:ss',
};

/**
 * The format in Luxon's tokens that was probably meant by one with tokens of Moment, Java or strftime, or in the wrong
 * case: `dd/MM/yyyy` for `DD/MM/YYYY`. Nobody has looked whether it is a sound one.
 */
export function suggestDateFormat(format: string): string {
  if (format.includes('%'))
    return format.replace(/%-?([A-Za-z])/g, (whole, letter: string) => STRFTIME[letter] ?? whole);
  // What stands in quotes is no token.
  const tokens = (change: (text: string) => string) => (text: string) =>
    text
      .split(/('[^']*')/)
      .map((part, at) => (at % 2 === 1 ? part : change(part)))
      .join('');
  return [withQuotes, withSmallLetters, withMonths, withHours].reduce((text, change) => tokens(change)(text), format);
}

const withQuotes = (text: string) => text.replace(/\[([^[\]']*)\]/g, "'$1'").replace(/T(?=[Hhk])/g, "'T'");

const withSmallLetters = (text: string) =>
  text
    .replace(/Y+/g, (found) => found.toLowerCase())
    .replace(/(?<!D)D{1,2}(?!D)/g, (found) => found.toLowerCase())
    .replaceAll('A', 'a');

/** mm is the minute: it is meant for the month where no hour is told, and MM for the minute behind the hour. */
function withMonths(text: string): string {
  if (!/[HhML]/.test(text)) return text.replace(/m{1,2}/g, (found) => found.toUpperCase());
  return text
    .replace(/(?<=[Hh]:)M{1,2}/g, (found) => found.toLowerCase())
    .replace(/(?<=m:)S{1,2}(?!S)/g, (found) => found.toLowerCase());
}

/** hh goes to twelve, and needs an a. */
const withHours = (text: string) =>
  text.includes('a') ? text : text.replace(/h{1,2}/g, (found) => found.toUpperCase());

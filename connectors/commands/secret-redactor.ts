/** Takes the secrets out of a text, and what may be a part of a record: JSON and addresses of mail. */
export type Redact = (text: string) => string;

/** A shorter text is masked only where it stands alone, or it would take the log's own words apart. */
const SHORT = 4;

/**
 * Masks every text and long number within the values, also where it is written as in JSON or in a URL. A value of several
 * lines is masked line by line, since a log is read so.
 */
export function secretRedactor(values: unknown[]): Redact {
  const lines = values.flatMap(textsIn).flatMap((text) => text.split(/\r?\n/)).filter((line) => line.trim() !== '');
  const texts = new Set(lines.flatMap(spellings));
  if (texts.size === 0) return withoutData;
  // The longest first: one may hold another.
  const alternatives = [...texts].toSorted((a, b) => b.length - a.length).map(pattern);
  const secrets = new RegExp(alternatives.join('|'), 'gu');
  return (text) => withoutData(text.replace(secrets, '***'));
}

const RECORD = /(?:\{|\[(?=\s*[{["'\]])).*/s;
/** Begins where a word does: else each character of a long word would be tried as the first, and a line may have 4 MiB. */
const MAIL_ADDRESS = /(?<![^\s@"'<>(])[^\s@"'<>(]+@[^\s@"'<>)]+/g;

/** Programs say what they could not read by quoting it. */
function withoutData(text: string): string {
  return text.replace(RECORD, '…').replace(MAIL_ADDRESS, '***');
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value === 'number') return String(value).length < SHORT ? [] : [String(value)];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

function spellings(text: string): string[] {
  return [text, JSON.stringify(text).slice(1, -1), encodeURIComponent(text.toWellFormed())];
}

function pattern(text: string): string {
  const literal = text.replace(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`);
  return [...text].length < SHORT ? String.raw`(?<![\p{L}\p{N}])${literal}(?![\p{L}\p{N}])` : literal;
}

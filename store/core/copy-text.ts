const SPECIAL = /[\\\t\n\r]/;
const ALL_SPECIAL = /[\\\t\n\r]/g;
const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** One line of COPY's text format; null is NULL. (PostgreSQL: COPY, "Text Format".) */
export function copyLine(columns: (string | number | boolean | null)[]): string {
  return `${columns.map(copyText).join('\t')}\n`;
}

function copyText(value: string | number | boolean | null): string {
  if (value === null) return '\\N';
  return typeof value === 'string' ? escaped(value) : String(value);
}

/** A text as it stands in a column of COPY's text format. */
export function escaped(text: string): string {
  return SPECIAL.test(text) ? text.replace(ALL_SPECIAL, (character) => ESCAPES[character]!) : text;
}

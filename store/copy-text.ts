const SPECIAL = /[\\\t\n\r]/g;
const ESCAPES: Record<string, string> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** One line of COPY's text format; null is NULL. (PostgreSQL: COPY, "Text Format".) */
export function copyLine(columns: (string | number | boolean | null)[]): string {
  return `${columns.map(copyText).join('\t')}\n`;
}

function copyText(value: string | number | boolean | null): string {
  if (value === null) return '\\N';
  return typeof value === 'string' ? value.replace(SPECIAL, (character) => ESCAPES[character]!) : String(value);
}

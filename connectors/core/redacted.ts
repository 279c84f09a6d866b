/** Minimum length of a redacted text: a shorter one may occur in any text by chance. */
const LEAST_CHARS = 4;
const STRUCK_OUT = '***';

/** Removes every string of `secretSettings` from `text`, in case a connector has quoted one. */
export function redacted(text: string, secretSettings: object): string {
  const longestFirst = stringsIn(secretSettings).toSorted((a, b) => b.length - a.length);
  return longestFirst.reduce((rest, secret) => rest.replaceAll(secret, STRUCK_OUT), text);
}

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return value.length < LEAST_CHARS ? [] : [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

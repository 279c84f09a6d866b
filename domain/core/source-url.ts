/** Maximum length of an address that a user sets. */
const MAX_LENGTH = 2048;
/** Characters that the parser of URLs drops or encodes silently, so that the address would be another one. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|^\s|\s$/u;

/** Returns the end of a sentence that begins with the field's name. Quotes nothing of the address. */
export function sourceUrlError(text: string, maxLength = MAX_LENGTH): string | undefined {
  if (text.length > maxLength) return `must have at most ${maxLength} characters`;
  if (INVISIBLE.test(text)) return 'must not have spaces around it, line breaks or other invisible characters';
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    return 'must be an http:// or https:// address, such as https://files.example.com/people.csv';
  }
  if (url.username !== '' || url.password !== '') {
    return 'must not hold a user or a password: put them into request_headers, as Authorization';
  }
  return undefined;
}

/** Returns an address without user, query and fragment, which may hold passwords, signatures and tokens. */
export function redactedUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || url.host === '') return '';
  return `${url.protocol}//${url.host}${url.pathname}${url.search === '' ? '' : '?…'}`;
}

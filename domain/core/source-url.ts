const MAX_LENGTH = 2048;
/** The parser of URLs drops or encodes these without a word, so an address with them is not the one that is meant. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|^\s|\s$/u;

/** What is wrong with an address that a user sets, to be put behind the field's name; quotes nothing of it. */
export function sourceUrlError(text: string): string | undefined {
  if (text.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters`;
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

/** An address to be shown: without its query and its fragment, which hold signatures and tokens, and without a user. */
export function redactedUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || url.host === '') return '';
  return `${url.protocol}//${url.host}${url.pathname}${url.search === '' ? '' : '?…'}`;
}

/** Checks the headers that users set for requests. */

export const MAX_HEADERS = 50;
const MAX_CHARACTERS = 8192;
/** `token` of RFC 9110, 5.6.2. */
const NAME = /^[!#$%&'*+\-.^_`|~\dA-Za-z]+$/;
/** `field-value` of RFC 9110, 5.5, in ASCII only: other bytes may arrive changed. */
const VALUE = /^[\t\x20-\x7e]*$/;

/** Headers that Millrace sets itself: they end a message, name a host or a file's part, or belong to a connection. */
const OURS = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'upgrade',
  'te',
  'trailer',
  'keep-alive',
  'http2-settings',
  'expect',
  'range',
  'if-range',
  'accept-encoding',
]);

/** Returns the end of an error sentence. Quotes no value, and no invalid name, which may be a misplaced value. */
export function requestHeadersError(headers: Record<string, string>): string | undefined {
  const entries = Object.entries(headers);
  if (entries.length > MAX_HEADERS) return `must have at most ${MAX_HEADERS} headers`;
  const seen = new Set<string>();
  for (const [index, [name, value]] of entries.entries()) {
    const error = headerError(name, value, index + 1);
    if (error !== undefined) return error;
    if (seen.has(name.toLowerCase())) return `has the header ${name} twice`;
    seen.add(name.toLowerCase());
  }
  const characters = entries.flat().join('').length;
  return characters > MAX_CHARACTERS ? `must have at most ${MAX_CHARACTERS} characters in all` : undefined;
}

function headerError(name: string, value: string, position: number): string | undefined {
  if (!NAME.test(name) || name.length > 256) {
    return `must have names such as Authorization: that of header ${position} is empty, too long, or has other characters`;
  }
  if (OURS.has(name.toLowerCase()) || name.toLowerCase().startsWith('proxy-')) {
    return `must not have the header ${name}: Millrace sets it itself, or leaves it out`;
  }
  if (VALUE.test(value)) return undefined;
  return `has a line break, another control character or a character beyond ASCII in the value of the header ${name}`;
}

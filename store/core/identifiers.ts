/** Makes identifiers, keys and tokens at random. */
import { randomBytes } from 'node:crypto';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const LENGTH = 20;

export type IdentifierKind =
  | 'api'
  | 'app'
  | 'atr'
  | 'cat'
  | 'cmp'
  | 'con'
  | 'crs'
  | 'crt'
  | 'del'
  | 'ent'
  | 'exp'
  | 'fil'
  | 'fun'
  | 'gdp'
  | 'grp'
  | 'hld'
  | 'imp'
  | 'inv'
  | 'job'
  | 'key'
  | 'lgt'
  | 'prv'
  | 'pur'
  | 'rcp'
  | 'rct'
  | 'rec'
  | 'req'
  | 'rst'
  | 'run'
  | 'seg'
  | 'snd'
  | 'sor'
  | 'stk'
  | 'syn'
  | 'usr'
  | 'utk'
  | 'var';

/** Returns an opaque identifier: the prefix and 20 random letters and digits (119 bits). */
export function newIdentifier(kind: IdentifierKind): string {
  return `${kind}_${randomText(LENGTH)}`;
}

/** Returns a random key in the reference's API key format (a digit, a lower and an upper case letter). */
export function newApiKey(): string {
  for (;;) {
    const key = randomText(40);
    if (/\d/.test(key) && /[a-z]/.test(key) && /[A-Z]/.test(key)) return key;
  }
}

/** Returns a token of 256 random bits, of letters, digits, `-` and `_`. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

function randomText(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length)) {
      // 248 is the largest multiple of 62 within a byte: higher ones would favour the first letters.
      if (byte < 248 && text.length < length) text += ALPHABET[byte % ALPHABET.length];
    }
  }
  return text;
}

const ENCODER = new TextEncoder();

/** Returns the size of a text in UTF-8, in Node and in browsers. */
export function utf8Bytes(text: string): number {
  return ENCODER.encode(text).length;
}

/** Control characters, except tabs and line ends: a terminal obeys them, even in quoted text. */
const CONTROLS = /(?![\t\n]|\r\n)\p{Cc}/gu;

/** Replaces control characters in a text of several lines, such as a refusal that quotes a server. */
export function readableText(text: string): string {
  return text.replace(CONTROLS, '\uFFFD');
}

/** Returns a stream that makes texts readable and writes them to `stream`. */
export function readable(stream: NodeJS.WritableStream): NodeJS.WritableStream {
  return { write: (text: string) => stream.write(readableText(text)) } as NodeJS.WritableStream;
}

/** A stream that drops everything. */
export const nowhere = { write: () => true } as object as NodeJS.WritableStream;

/** Escapes control characters that JSON allows unescaped (DEL and above); the meaning stays the same. */
export function escapeControls(json: string): string {
  return json.replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Control characters but for tabs and line ends: a terminal obeys them, no matter who wrote them. */
const CONTROLS = /(?![\t\n]|\r\n)\p{Cc}/gu;

/** A text over lines in which others may have put control characters, as a refusal that quotes a server may have. */
export function readableText(text: string): string {
  return text.replace(CONTROLS, '\uFFFD');
}

/** A stream for texts that people read, which end in `stream`. */
export function readable(stream: NodeJS.WritableStream): NodeJS.WritableStream {
  return { write: (text: string) => stream.write(readableText(text)) } as NodeJS.WritableStream;
}

/** A stream for texts that are not shown. */
export const nowhere = { write: () => true } as object as NodeJS.WritableStream;

/** A JSON text that means the same, with the controls escaped that JSON allows as they are (DEL and those above it). */
export function escapeControls(json: string): string {
  return json.replace(CONTROLS, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

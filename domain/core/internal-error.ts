/** What may be told of an unexpected error: its message is left out, since messages quote values. */
export type InternalError = { errorClass: string; code?: string; frames: string[] };

/** As V8 writes them, with a place in a file: a line of a message that only begins so has none. */
const FRAME = /^\s+at (?:[^()]* \()?(?:node|file|\/|evalmachine|[a-zA-Z]:\\)[^\s()]*:\d+:\d+\)?$/;

/** The class, the code (of Postgres, Node or gRPC) and the stack frames of anything thrown. */
export function internalErrorOf(error: unknown): InternalError {
  if (!(error instanceof Error)) return { errorClass: typeof error, frames: [] };
  const { code } = error as { code?: string | number };
  const frames = stackBehindMessage(error).split('\n').filter((line) => FRAME.test(line)).map((line) => line.trim());
  const errorClass = error.constructor.name || error.name;
  return code === undefined ? { errorClass, frames } : { errorClass, code: String(code), frames };
}

/** Messages quote values, and their lines may look like frames. */
function stackBehindMessage({ stack = '', message }: Error): string {
  const at = message === '' ? -1 : stack.indexOf(message);
  return at === -1 ? stack : stack.slice(at + message.length);
}

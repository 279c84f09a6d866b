/** What may be told of an unexpected error: its message is left out, since messages quote values. */
export type Fault = { errorClass: string; code?: string; frames: string[] };

const FRAME = /^\s+at /;

/** The class, the code (of Postgres, Node or gRPC) and the stack frames of anything thrown. */
export function faultOf(error: unknown): Fault {
  if (!(error instanceof Error)) return { errorClass: typeof error, frames: [] };
  const { code } = error as { code?: string | number };
  const frames = (error.stack ?? '').split('\n').filter((line) => FRAME.test(line)).map((line) => line.trim());
  const errorClass = error.constructor.name || error.name;
  return code === undefined ? { errorClass, frames } : { errorClass, code: String(code), frames };
}

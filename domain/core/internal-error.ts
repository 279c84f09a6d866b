/** Classifies errors: Millrace's own, or those of systems around it that may succeed later. */

/** The parts of an unexpected error that may be shown. Its message is left out, because messages quote values. */
export type InternalError = { errorClass: string; code?: string; frames: string[] };

/** A stack frame of V8 with a position in a file; a line of a message that only begins like one has none. */
const FRAME = /^\s+at (?:[^()]* \()?(?:node|file|\/|evalmachine|[a-zA-Z]:\\)[^\s()]*:\d+:\d+\)?$/;

export function internalErrorOf(error: unknown): InternalError {
  if (!(error instanceof Error)) return { errorClass: typeof error, frames: [] };
  const { code } = error as { code?: string | number };
  const frames = stackBehindMessage(error)
    .split('\n')
    .filter((line) => FRAME.test(line))
    .map((line) => line.trim());
  const errorClass = error.constructor.name || error.name;
  return code === undefined ? { errorClass, frames } : { errorClass, code: String(code), frames };
}

/** Returns the stack without the message: messages quote values, and their lines may look like frames. */
function stackBehindMessage({ stack = '', message }: Error): string {
  const at = message === '' ? -1 : stack.indexOf(message);
  return at === -1 ? stack : stack.slice(at + message.length);
}

/** An error of an outside system that a step may retry: `code` says which one, and quotes nothing. */
export class OutsideError extends Error {
  override readonly name = 'OutsideError';
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** The file store is away, or another one is in its place: a missing file is not known to be deleted. */
export class FileStoreAway extends Error {
  override readonly name = 'FileStoreAway';
  readonly code = 'FILE_STORE_AWAY';
}

/** SQLSTATEs of a database that refuses sessions, is full, or ends its sessions (Postgres: appendix A). */
const DATABASE_AWAY = /^(?:08...|53...|57P..|58030)$/;
const UNREACHABLE = new RegExp(
  `^(?:${[
    'ECONNRESET',
    'ECONNREFUSED',
    'ECONNABORTED',
    'EPIPE',
    'ETIMEDOUT',
    'EHOSTUNREACH',
    'EHOSTDOWN',
    'ENETUNREACH',
    'ENETDOWN',
    'EADDRNOTAVAIL',
    'ENOTFOUND',
    'EAI_AGAIN',
  ].join('|')})$`,
);
/** The Postgres driver's messages for a lost or refused session: its own errors have neither class nor code. */
const NO_SESSION = new RegExp(
  `^(?:${[
    'Connection terminated',
    'Connection ended',
    'timeout exceeded when trying to connect',
    'Client was closed',
    'Client has encountered a connection error',
    'Query read timeout',
    'Cannot use a pool after calling end',
  ].join('|')})`,
);

export function isAway(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if (error instanceof FileStoreAway) return true;
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string') return error.constructor === Error && NO_SESSION.test(error.message);
  return UNREACHABLE.test(code) || DATABASE_AWAY.test(code);
}

/** Node's codes of a full or broken disk or machine, of AbortController, and of a stream that its reader left. */
const MACHINE = /^(?:ENOSPC|EDQUOT|EIO|EROFS|EMFILE|ENFILE|ABORT_ERR|ERR_STREAM_PREMATURE_CLOSE)$/;
/** SQLSTATEs of a statement that took too long or conflicted too often: it may succeed on a less busy machine. */
const DATABASE_BUSY = /^(?:25P0[34]|55P03|57014|40001|40P01)$/;
/** gRPC: canceled, deadline exceeded, resource exhausted, aborted, unavailable. */
const TEMPORAL_AWAY = [1, 4, 8, 10, 14];
/** Attempt from which a step that is always too slow is an internal error. */
const BUSY_TRIES = 5;

/** Returns whether an error is Millrace's own (law 11), not an outside system's, a full disk's or an ended step's. */
export function isInternal(error: unknown, attempt = 1): boolean {
  if (!(error instanceof Error)) return true;
  if (error instanceof OutsideError || error.name === 'AbortError' || isAway(error)) return false;
  const { code, $fault } = error as { code?: string | number; $fault?: string };
  if ($fault === 'server') return false; // of the S3 that keeps the files
  if (typeof code === 'number') return !TEMPORAL_AWAY.includes(code);
  if (code !== undefined && DATABASE_BUSY.test(code)) return attempt >= BUSY_TRIES;
  return code === undefined || !MACHINE.test(code);
}

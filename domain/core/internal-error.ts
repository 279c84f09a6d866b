/** What may be told of an unexpected error: its message is left out, since messages quote values. */
export type InternalError = { errorClass: string; code?: string; frames: string[] };

/** As V8 writes them, with a place in a file: a line of a message that only begins so has none. */
const FRAME = /^\s+at (?:[^()]* \()?(?:node|file|\/|evalmachine|[a-zA-Z]:\\)[^\s()]*:\d+:\d+\)?$/;

/** The class, the code (of Postgres, Node or gRPC) and the stack frames of anything thrown. */
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

/** Messages quote values, and their lines may look like frames. */
function stackBehindMessage({ stack = '', message }: Error): string {
  const at = message === '' ? -1 : stack.indexOf(message);
  return at === -1 ? stack : stack.slice(at + message.length);
}

/** An error of an outside system that a step passes on to be tried again: `code` says which, and quotes nothing. */
export class OutsideError extends Error {
  override readonly name = 'OutsideError';
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** The file store is not there, or another one is in its place: nothing that is missing in it is known to be gone. */
export class FileStoreAway extends Error {
  override readonly name = 'FileStoreAway';
  readonly code = 'FILE_STORE_AWAY';
}

/** SQLSTATEs of a database that takes no session, has no room, or ends the sessions it has (Postgres: appendix A). */
const DATABASE_AWAY = /^(?:08...|53...|57P..|58030)$/;
/** Node's codes of a network, or of a machine behind it, that is away. */
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
/** How the Postgres driver words a session that it lost or does not get: its own errors have neither class nor code. */
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

/**
 * Whether something failed because a database, the file store or another server, or the way to it, is away: it may
 * succeed later.
 */
export function isAway(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if (error instanceof FileStoreAway) return true;
  const { code } = error as { code?: unknown };
  if (typeof code !== 'string') return error.constructor === Error && NO_SESSION.test(error.message);
  return UNREACHABLE.test(code) || DATABASE_AWAY.test(code);
}

/** Node's codes of a disk or machine that is full or broken; of AbortController; of a stream that its reader left. */
const MACHINE = /^(?:ENOSPC|EDQUOT|EIO|EROFS|EMFILE|ENFILE|ABORT_ERR|ERR_STREAM_PREMATURE_CLOSE)$/;
/**
 * SQLSTATEs of a statement that took too long or met others too often: on a busy machine it may succeed the next time.
 */
const DATABASE_BUSY = /^(?:25P0[34]|55P03|57014|40001|40P01)$/;
/** gRPC: canceled, deadline exceeded, resource exhausted, aborted, unavailable. */
const TEMPORAL_AWAY = [1, 4, 8, 10, 14];
/** From this attempt on, a step that is too slow each time is an internal error. */
const BUSY_TRIES = 5;

/**
 * Whether an error is Millrace's own (law 11): none of an outside system, of a database, a Temporal or a file store
 * that is away, of a full disk, or of a step that was told to end. `attempt`: how often the step was tried, from 1.
 */
export function isInternal(error: unknown, attempt = 1): boolean {
  if (!(error instanceof Error)) return true;
  if (error instanceof OutsideError || error.name === 'AbortError' || isAway(error)) return false;
  const { code, $fault } = error as { code?: string | number; $fault?: string };
  if ($fault === 'server') return false; // of the S3 that keeps the files
  if (typeof code === 'number') return !TEMPORAL_AWAY.includes(code);
  if (code !== undefined && DATABASE_BUSY.test(code)) return attempt >= BUSY_TRIES;
  return code === undefined || !MACHINE.test(code);
}

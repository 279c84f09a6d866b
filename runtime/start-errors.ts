// Turns faults around a process into one sentence that names the variable.
import { relative, resolve } from 'node:path';
import { postgresRefusal, serverName } from '../connectors/postgres/postgres-session.ts';
import { isAway } from '../domain/core/internal-error.ts';
import type { Database } from '../store/core/database.ts';
import { CannotStart } from './cannot-start.ts';
import type { Config } from './config.ts';

export async function reachDatabase(db: Database, databaseUrl: string): Promise<void> {
  await db.query('SELECT').catch((error: unknown) => {
    throw databaseError(databaseUrl, error);
  });
}

/** Names DATABASE_URL in a failed first connection. Returns any other error unchanged. */
function databaseError(databaseUrl: string, error: unknown): unknown {
  const { hostname, port } = new URL(databaseUrl);
  if (!isAway(error) && !isRefused(error)) return error;
  return new CannotStart(
    `DATABASE_URL: ${postgresRefusal(serverName(hostname, Number(port || 5_432)), error).message}.`,
    { cause: error },
  );
}

/** SQLSTATE classes of a refused session, and Node's codes of sockets and TLS. */
const REFUSED =
  /^(?:(?:22|28|3D|42)[0-9A-Z]+|E[A-Z_]+|ERR_SSL.*|CERT_.*|ERR_TLS.*|DEPTH_ZERO.*|SELF_SIGNED.*|UNABLE_TO.*)$/;

/** Returns whether the server answers but refuses this process. */
function isRefused(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? REFUSED.test(code) : /SSL|^SASL/.test(error.message);
}

const FOLDER: Record<string, string> = {
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'it is on a read-only file system',
  ENOSPC: 'its disk is full',
  ENOTDIR: 'a file is in the way',
  EEXIST: 'a file is in the way',
  ENOENT: "it can't be made",
};

/** Names the variable of a folder. Returns any other error unchanged. */
export function folderError({ MILLRACE_DATA_DIR, MILLRACE_FILES }: Config, error: unknown): unknown {
  const isFolder = MILLRACE_FILES !== undefined && !MILLRACE_FILES.startsWith('s3:');
  const folders = { ...(isFolder ? { MILLRACE_FILES } : {}), MILLRACE_DATA_DIR };
  if (!(error instanceof Error) || error instanceof CannotStart) return error;
  const { code = '', path, errcode } = error as NodeJS.ErrnoException & { errcode?: number };
  for (const [variable, folder] of Object.entries(folders)) {
    // SQLite, which locks the data folder, has its own numbers.
    const why =
      errcode === 8 || errcode === 14
        ? FOLDER['EACCES']
        : path !== undefined && lies(path, folder)
          ? FOLDER[code]
          : undefined;
    if (why !== undefined)
      return new CannotStart(`${variable}: the folder ${folder} can't be used (${code}): ${why}.`, { cause: error });
  }
  return error;
}

function lies(path: string, folder: string): boolean {
  const isWithin = (inner: string, outer: string) => !relative(outer, inner).startsWith('..');
  return isWithin(resolve(path), resolve(folder)) || isWithin(resolve(folder), resolve(path));
}

import type { Server } from './client.ts';
import { Refusal } from '../domain/refusal.ts';

/** The command could not be done. 0: all well; 2: it was done, and rows failed. */
const FAILED = 1;

/** Does a command's work for the server that the environment names, and exits with the status it returns. */
export async function run(work: (server: Server) => Promise<number>): Promise<void> {
  const server = { url: process.env.MILLRACE_URL ?? 'http://127.0.0.1:8080', token: process.env.MILLRACE_TOKEN };
  try {
    process.exitCode = await work(server);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    console.error(error.message);
    process.exitCode = FAILED;
  }
}

/** Whoever reads what is printed may stop at any time, as `head` does: that is no failure. */
export function endQuietlyOnBrokenPipe(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit(0);
      throw error;
    });
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { BenchContext, Size } from './line.ts';

/** Time that each answer of a vendor takes, as over the internet. */
const DELAY_MS = 20;

/**
 * A vendor's test server over TLS, in a process of its own. `main`: its file, which prints a line of JSON with what
 * there is to know of it, and ends with its standard input.
 */
export function localVendor<Server extends { cert: string }>(
  main: string,
  argsOf: (size: Size, delayMs: number) => string[],
) {
  const path = fileURLToPath(new URL(`../test/harness/syncs/${main}`, import.meta.url));
  let child: ChildProcess | undefined;
  let server: Server | undefined;
  return {
    get server(): Server {
      return server!;
    },

    /** Starts the server once, and returns the environment of a service that trusts it and those of other lines. */
    async start({ size, folder }: BenchContext): Promise<Record<string, string>> {
      const certificates = join(folder, 'vendors.pem');
      if (!child) {
        child = spawn(process.execPath, [path, ...argsOf(size, DELAY_MS)], { stdio: ['pipe', 'pipe', 'inherit'] });
        for await (const line of createInterface({ input: child.stdout! })) {
          server = JSON.parse(line) as Server;
          break;
        }
        await appendFile(certificates, `${server!.cert}\n`);
      }
      return { NODE_EXTRA_CA_CERTS: certificates, MILLRACE_FETCH_ALLOW: 'localhost, 127.0.0.1' };
    },

    async end(): Promise<void> {
      child!.stdin!.end();
      if (child!.exitCode === null) await once(child!, 'exit');
    },
  };
}

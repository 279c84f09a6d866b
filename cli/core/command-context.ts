import type { Client } from '../../api/client.ts';
import type { Server } from './open-client.ts';

/** What a command has of its process: `process` is one. */
export type ProcessIo = {
  env: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
};

/** What a command works with. `console` prints to the streams beside it. */
export type CommandContext = ProcessIo & { server: Server; client: Client; console: Console };

/** Does a command's work, which returns the exit status: 0 for all well, 2 where it was done and rows failed. */
export type Run = (work: (context: CommandContext) => Promise<number>) => Promise<void>;

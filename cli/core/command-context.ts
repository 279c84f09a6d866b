import type { Client } from '../../api/client.ts';
import type { Server } from './open-client.ts';
import type { Terminal } from './terminal.ts';

/** The part of a process that a command uses: `process` is one. */
export type ProcessIo = {
  env: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
};

/** Dependencies of a command. `console` prints to the streams beside it. */
export type CommandContext = ProcessIo & {
  server: Server;
  client: Client;
  console: Console;
  terminal: Terminal;
  /** Whether `--json` is given: a command that does not end by itself prints a document a line. */
  isJson: boolean;
  /** Sets what `--json` prints, if that is not the result of the client's last call. */
  setResult(value: unknown): void;
};

/** Does a command's work, which returns the exit status: 0 for all well, 2 where it was done and rows failed. */
export type Run = (work: (context: CommandContext) => Promise<number>) => Promise<void>;

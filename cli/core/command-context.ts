import type { Client } from '../../api/client.ts';

/** The parts of a process that a command uses; `process` is one. */
export type ProcessIo = {
  env: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
};

/** The server's address and the caller's token. */
export type Server = { url: string; token?: string | undefined };

/** Properties of the terminal that affect texts for people. */
export type Terminal = {
  /** Characters a line; null without a terminal, then nothing is cut. */
  width: number | null;
  /** The command as it was called, for hints that can be copied. */
  command: string;
};

/** Input of a command. `console` prints to the streams beside it. */
export type CommandContext = ProcessIo & {
  server: Server;
  client: Client;
  console: Console;
  terminal: Terminal;
  /** True with `--json`: a command that does not end by itself prints one document a line. */
  isJson: boolean;
  /** Sets what `--json` prints, if it differs from the result of the client's last call. */
  setResult(value: unknown): void;
};

/** Runs a command. `work` returns the exit status: 0 for success, 2 if it ran and rows failed. */
export type Run = (work: (context: CommandContext) => Promise<number>) => Promise<void>;

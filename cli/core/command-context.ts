import type { Client } from '../../api/client.ts';

export type ProcessIo = {
  env: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadableStream & { isTTY?: boolean };
  stdout: NodeJS.WritableStream;
  stderr: NodeJS.WritableStream;
};

export type Server = { url: string; token?: string | undefined };

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
  isJson: boolean;
  /** Sets the result for `--json` if it is not that of the client's last call. */
  setResult(value: unknown): void;
};

/** Runs a command. `work` returns the exit status: 0 for success, 2 if rows failed. */
export type Run = (work: (context: CommandContext) => Promise<number>) => Promise<void>;

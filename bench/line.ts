import type { Figure } from './report.ts';
import type { RunningService } from './service.ts';

/** `quick` is for trying the benchmark itself: its figures say little. */
export type Size = 'full' | 'quick';

/** Work that is measured against what it is held to: one figure, or some that come out of the same runs. */
export type Line = {
  /** Short, for `--only`. */
  key: string;
  /** The names of its figures, in their order. */
  titles(size: Size): string[];
  /** What the service has to be started with for it. */
  environment?(context: BenchContext): Promise<Record<string, string>>;
  /** Yields each figure as soon as it is measured. */
  measure(context: BenchContext): AsyncIterable<Figure>;
};

/** What lines share. Each part is made when a line first asks for it. */
export type BenchContext = {
  size: Size;
  /** The figure of work that varies much is the median of so many runs. */
  rounds: number;
  /** A temporary folder. */
  folder: string;
  service(): Promise<RunningService>;
  /** Stops the service and starts it again. */
  restartService(): Promise<RunningService>;
  /** Of the service's own Postgres, which runs as long as the service. */
  databaseUrl(): Promise<string>;
  /** Null where it can't be installed. */
  tap(): Promise<Tap | null>;
};

/** An installed Singer tap, and the file for MILLRACE_TAPS that names it. */
export type Tap = { program: string; tapsFile: string };

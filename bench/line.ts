import type { Figure } from './report.ts';
import type { RunningService } from './service.ts';

/** `quick` is for trying the benchmark itself: its figures say little. */
export type Size = 'full' | 'quick';

/** Measured work: one figure, or several from the same runs. */
export type Line = {
  /** Short, for `--only`. */
  key: string;
  /** The names of its figures, in their order. */
  titles(size: Size): string[];
  /** The environment that the service needs for it. */
  environment?(context: BenchContext): Promise<Record<string, string>>;
  /** Yields each figure as soon as it is measured. */
  measure(context: BenchContext): AsyncIterable<Figure>;
};

/** Parts that lines share, each made when a line first asks for it. */
export type BenchContext = {
  size: Size;
  /** Number of runs, whose median is the figure of work that varies much. */
  rounds: number;
  /** A temporary folder. */
  folder: string;
  service(): Promise<RunningService>;
  /** Stops the service and starts it again. */
  restartService(): Promise<RunningService>;
  /** Address of the service's own Postgres, which runs as long as the service. */
  databaseUrl(): Promise<string>;
  /** Returns null if it can't be installed. */
  tap(): Promise<Tap | null>;
};

/** An installed Singer tap, and the file for MILLRACE_TAPS that names it. */
export type Tap = { program: string; tapsFile: string };

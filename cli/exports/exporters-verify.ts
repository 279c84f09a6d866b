/** The command `millrace exporters verify`: checks exports in their bucket. */
import progress, { SingleBar } from 'cli-progress';
import type { Command } from 'commander';
import { refuse } from '../../domain/core/refusal.ts';
import { type WindowFault, windowFaults } from '../../domain/exports/window-faults.ts';
import type { CommandContext, ProcessIo, Run } from '../core/command-context.ts';
import { readJwks } from '../gdpr/read-jwks.ts';
import type { BucketOptions } from './exports-bucket.ts';
import { sayVerified } from './verified-report.ts';
import { isWhole, type Verification, type VerifiedWindow, verifyWindow } from './verify-window.ts';
import { type WindowFolder, windowFolders } from './window-folders.ts';

type Options = BucketOptions & { prefix: string; from?: string; to?: string; jwks?: string; deep?: true; json?: true };

type Bounds = { from?: Date; to?: Date };

export const addVerifyCommand = (exporters: Command, run: Run) =>
  exporters
    .command('verify')
    .description('check that the bucket contains all exports as they were written, without a server')
    .requiredOption('--bucket <name>', 'is read with the credentials that the AWS command line would use')
    .option('--prefix <prefix>', '<subfolder>/<exporter>; else all exporters of the bucket', '')
    .option('--region <region>', 'of the bucket')
    .option('--endpoint <url>', "of another S3 than Amazon's")
    .option('--from <time>', 'only windows that end after it: a date (UTC), or an instant such as 2026-11-20T23:00:00Z')
    .option('--to <time>', 'only windows that begin before it')
    .option('--jwks <file|url>', "the server's public keys, /.well-known/jwks.json, to verify signatures")
    .option('--deep', 'read each file and hash it, instead of asking for its size')
    .option('--json', 'print what was found as JSON')
    .action((options: Options) => run((context) => verify(context, options)));

async function verify({ stdin, stderr, console, terminal }: CommandContext, options: Options): Promise<number> {
  const bounds = boundsOf(options);
  const keys = options.jwks === undefined ? null : await readJwks({ stdin }, options.jwks);
  const { openExportsBucket } = await import('./exports-bucket.ts'); // takes long to load: not for each command
  const bucket = openExportsBucket(options);
  try {
    const folders = await foldersOf(bucket.list(listedPrefix(options.prefix)), bounds);
    const windows = await verifyAll({ stderr }, { bucket, keys, isDeep: options.deep === true }, folders);
    const faults = chainFaults(folders, bounds);
    const ok = windows.length > 0 && windows.every(isWhole) && faults.length === 0;
    const report = { ok, isSigned: keys !== null, isDeep: options.deep === true, windows, faults };
    console.log(sayVerified(report, options.json === true, terminal.width));
    return ok ? 0 : 1;
  } finally {
    bucket.close();
  }
}

async function verifyAll(
  { stderr }: Pick<ProcessIo, 'stderr'>,
  verification: Verification,
  folders: WindowFolder[],
): Promise<VerifiedWindow[]> {
  const bar = new SingleBar(
    { format: '{bar} {value} of {total} windows', gracefulExit: false, stream: stderr },
    progress.Presets.legacy,
  );
  bar.start(folders.length, 0);
  try {
    const windows: VerifiedWindow[] = [];
    for (const folder of folders) {
      windows.push(await verifyWindow(verification, folder));
      bar.increment();
    }
    return windows;
  } finally {
    bar.stop();
  }
}

async function foldersOf(keys: AsyncIterable<string>, { from, to }: Bounds): Promise<WindowFolder[]> {
  const isAsked = ({ span }: WindowFolder) =>
    span === null
      ? from === undefined && to === undefined // a backfill covers the time of events, which differs
      : (!from || span.end > from) && (!to || (span.start ?? -Infinity) < to);
  return (await windowFolders(keys))
    .filter(isAsked)
    .toSorted((a, b) => compare(a.exporter, b.exporter) || compareEnds(a, b) || compare(a.path, b.path));
}

const compare = (a: string, b: string) => (a < b ? -1 : Number(a > b));
const compareEnds = (a: WindowFolder, b: WindowFolder) => (a.span?.end.getTime() ?? 0) - (b.span?.end.getTime() ?? 0);

/** Returns gaps and overlaps of each exporter's windows. */
function chainFaults(folders: WindowFolder[], bounds: Bounds): (WindowFault & { exporter: string })[] {
  const chains = Object.entries(
    Object.groupBy(
      folders.filter(({ span }) => span !== null),
      ({ exporter }) => exporter,
    ),
  );
  return chains.flatMap(([exporter, chain = []]) =>
    windowFaults(
      chain.map(({ span }) => span!),
      bounds,
    ).map((fault) => ({ exporter, ...fault })),
  );
}

/** Ends a prefix so that `exp_1` does not match `exp_12`. */
function listedPrefix(prefix: string): string {
  const bare = prefix.replace(/^\/+|(?<!\/)\/+$/g, '');
  return bare === '' ? '' : `${bare}/`;
}

function boundsOf({ from, to }: Options): Bounds {
  return {
    ...(from === undefined ? {} : { from: readTime('--from', from) }),
    ...(to === undefined ? {} : { to: readTime('--to', to) }),
  };
}

function readTime(option: string, given: string): Date {
  const isTime = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(given);
  const time = new Date(given);
  if (isTime && !Number.isNaN(time.getTime())) return time;
  return refuse(400, 'bad_time', `${option} is a date such as 2026-11-20, or an instant such as 2026-11-20T23:00:00Z.`);
}

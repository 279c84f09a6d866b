import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { findProgram, type Program } from './binaries.ts';
import { type Child, startChild } from './children.ts';
import { area } from './data-folder.ts';
import { rememberedPort } from './ports.ts';
import { type Say, seconds } from './say.ts';

export type EmbeddedTemporal = { address: string; uiAddress: string | null } & Pick<Child, 'lost' | 'stop'>;

export type TemporalOptions = {
  dataDir: string;
  say: Say;
  /** Without its page. */
  headless?: boolean;
  /** Registered before it is ready. */
  namespace?: string;
  /** Whether a power cut may lose more than the last moment; default not. */
  synchronous?: 'normal' | 'off';
};

const temporalProgram: Program = {
  name: 'temporal',
  version: '1.5.1',       // newer ones don't install by `go install`
  versionArguments: ['--version'],
  archiveUrl: (system, processor) => `https://temporal.download/cli/archive/v1.5.1?platform=${system}&arch=${processor}`,
  goModule: 'github.com/temporalio/cli/cmd/temporal',
  instead: 'set TEMPORAL_ADDRESS to a Temporal that runs',
};

const READY_WITHIN_MS = 60_000;

/**
 * A write-ahead log takes a quarter of the time of the rollback journal, which is the default. What it may lose is the last moment before a
 * power cut: steps run again, and the sweep starts what Temporal does not know.
 */
const JOURNAL = 'journal_mode=wal';

/** Temporal's dev server on the loopback, with its database file under `dataDir`. */
export async function startTemporal(
  { dataDir, say, headless = false, namespace, synchronous = 'normal' }: TemporalOptions,
): Promise<EmbeddedTemporal> {
  const command = await findProgram(temporalProgram, { say });
  const start = performance.now();
  const port = await rememberedPort(dataDir, 'temporal', say);
  const uiPort = headless ? null : await rememberedPort(dataDir, 'temporal-ui', say);
  area(dataDir, 'temporal');
  const child = startChild({
    dataDir, name: 'temporal', command, stopSignal: 'SIGINT',
    args: [
      'server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--db-filename', temporalDatabase(dataDir),
      '--log-level', 'error', '--log-format', 'json',
      '--sqlite-pragma', JOURNAL, '--sqlite-pragma', `synchronous=${synchronous}`,
      ...(uiPort === null ? ['--headless'] : ['--ui-port', String(uiPort)]),
      ...(namespace ? ['--namespace', namespace] : []),
    ],
  });
  const address = `127.0.0.1:${port}`;
  try {
    await ready(address, child);
  } catch (error) {
    await child.stop();
    throw error;
  }
  say(`temporal: dev server ready in ${seconds(start)}`);
  const uiAddress = uiPort === null ? null : `http://127.0.0.1:${uiPort}`;
  return { address, uiAddress, lost: child.lost, stop: child.stop };
}

/** The file that holds all of Temporal's state. */
export function temporalDatabase(dataDir: string): string {
  return join(dataDir, 'temporal', 'temporal.db');
}

async function ready(address: string, child: Child): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const isServing = await Connection.connect({ address, connectTimeout: 1_000 })
      .then((connection) => connection.close().then(() => true), () => false);
    if (isServing) return;
    if (child.hasEnded() || performance.now() > deadline) throw child.didNotStart();
    await delay(50);
  }
}

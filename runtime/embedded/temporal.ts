/** The embedded Temporal: its dev server, with all state in one file. */
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
  headless?: boolean;
  namespace?: string;
  /** `off`: a power cut may lose more than the last moment. Default `normal`. */
  synchronous?: 'normal' | 'off';
  /** Values of Temporal's dynamic configuration, by key. */
  settings?: Record<string, string | number | boolean>;
};

const VERSION = '1.5.1'; // newer ones cannot be installed by `go install`

const temporalProgram: Program = {
  name: 'temporal',
  version: VERSION,
  versionArguments: ['--version'],
  archiveUrl: (system, processor) =>
    `https://github.com/temporalio/cli/releases/download/v${VERSION}/temporal_cli_${VERSION}_${system}_${processor}.tar.gz`,
  // Published in github.com/cashapp/hermit-packages (temporal-cli.hcl). github.com/zph/hermit-packages has three, too.
  checksums: {
    linux_amd64: 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
    linux_arm64: 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5',
    darwin_amd64: 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9',
    darwin_arm64: 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415',
  },
  goModule: 'github.com/temporalio/cli/cmd/temporal',
  instead: 'set TEMPORAL_ADDRESS to a Temporal that runs',
};

const READY_WITHIN_MS = 60_000;

/** Write-ahead log: a quarter of the time. A power cut repeats steps, and the sweep starts what Temporal has lost. */
const JOURNAL = 'journal_mode=wal';

export async function startTemporal({
  dataDir,
  say,
  headless = false,
  namespace,
  synchronous = 'normal',
  settings = {},
}: TemporalOptions): Promise<EmbeddedTemporal> {
  const command = await findProgram(temporalProgram, { say });
  const start = performance.now();
  const port = await rememberedPort(dataDir, 'temporal', say);
  const uiPort = headless ? null : await rememberedPort(dataDir, 'temporal-ui', say);
  area(dataDir, 'temporal');
  const child = startChild({
    dataDir,
    name: 'temporal',
    command,
    stopSignal: 'SIGINT',
    args: [
      'server',
      'start-dev',
      '--ip',
      '127.0.0.1',
      '--port',
      String(port),
      '--db-filename',
      temporalDatabase(dataDir),
      '--log-level',
      'error',
      '--log-format',
      'json',
      '--sqlite-pragma',
      JOURNAL,
      '--sqlite-pragma',
      `synchronous=${synchronous}`,
      ...Object.entries(settings).flatMap(([key, value]) => [
        '--dynamic-config-value',
        `${key}=${JSON.stringify(value)}`,
      ]),
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

export function temporalDatabase(dataDir: string): string {
  return join(dataDir, 'temporal', 'temporal.db');
}

async function ready(address: string, child: Child): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const isServing = await Connection.connect({ address, connectTimeout: 1_000 }).then(
      (connection) => connection.close().then(() => true),
      () => false,
    );
    if (isServing) return;
    if (child.hasEnded() || performance.now() > deadline) throw child.didNotStart();
    await delay(50);
  }
}

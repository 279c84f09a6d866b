import { setTimeout as delay } from 'node:timers/promises';
import { findProgram, type Program } from './binaries.ts';
import { type Child, startChild } from './children.ts';
import { area } from './data-folder.ts';
import { rememberedPort } from './ports.ts';
import { type Say, seconds } from './say.ts';

export type EmbeddedS3 = { endpoint: string; region: string } & Pick<Child, 'lost' | 'stop'>;

export type S3Options = { dataDir: string; say: Say; accessKeyId: string; secretAccessKey: string };

const VERSION = '1.7.0';
const READY_WITHIN_MS = 30_000;
const REGION = 'us-east-1';

const s3Program: Program = {
  name: 'versitygw',
  version: VERSION,
  versionArguments: ['--help'],        // its --version does not name it
  archiveUrl: (...machine) => `https://github.com/versity/versitygw/releases/download/v${VERSION}/${archiveName(...machine)}.tar.gz`,
  // We could read none that is published for this version. Until one stands here, it comes from PATH or `go install`.
  checksums: {},
  archiveFolder: archiveName,
  goModule: 'github.com/versity/versitygw/cmd/versitygw',
  instead: 'use an S3 that runs',
};

/** As `uname` calls systems and processors. */
function archiveName(system: string, processor: string): string {
  return `versitygw_v${VERSION}_${system[0]!.toUpperCase()}${system.slice(1)}_${processor === 'amd64' ? 'x86_64' : processor}`;
}

/** An S3 on the loopback, with its objects as files under `dataDir`. */
export async function startS3({ dataDir, say, accessKeyId, secretAccessKey }: S3Options): Promise<EmbeddedS3> {
  const command = await findProgram(s3Program, { say });
  const start = performance.now();
  const port = await rememberedPort(dataDir, 's3', say);
  const objects = area(dataDir, 's3');
  const child = startChild({
    dataDir, name: 's3', command, stopSignal: 'SIGTERM',
    // The one folder's path must not begin with the other's.
    args: ['--port', `127.0.0.1:${port}`, '--region', REGION, '--quiet', 'posix', '--sidecar', area(dataDir, 'metadata-of-s3'), objects],
    // Not as arguments, which other users can see.
    options: { env: { PATH: process.env.PATH, HOME: objects, ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey } },
  });
  const endpoint = `http://127.0.0.1:${port}`;
  try {
    await ready(endpoint, child);
  } catch (error) {
    await child.stop();
    throw error;
  }
  say(`s3: ready in ${seconds(start)}`);
  return { endpoint, region: REGION, lost: child.lost, stop: child.stop };
}

/** Answers at all; who asks without a signature is refused. */
async function ready(endpoint: string, child: Child): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const isServing = await fetch(endpoint).then(async (answer) => {
      await answer.body?.cancel();
      return answer.status === 403;
    }, () => false);
    if (isServing) return;
    if (child.hasEnded() || performance.now() > deadline) throw child.didNotStart();
    await delay(20);
  }
}

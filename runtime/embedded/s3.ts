/** An embedded S3, for the demo and the tests. */
import { setTimeout as delay } from 'node:timers/promises';
import { findProgram, type Program } from './binaries.ts';
import { type Child, startChild } from './children.ts';
import { area } from './data-folder.ts';
import { rememberedPort } from './ports.ts';
import { type Say, seconds } from './say.ts';

export type EmbeddedS3 = { endpoint: string; region: string } & Pick<Child, 'lost' | 'stop'>;

export type S3Options = { dataDir: string; say: Say; accessKeyId: string; secretAccessKey: string };

const VERSION = '1.8.0';
const READY_WITHIN_MS = 30_000;
const REGION = 'us-east-1';

export const s3Program: Program = {
  name: 'versitygw',
  version: VERSION,
  versionArguments: ['--help'], // its --version does not name it
  archiveUrl: (...machine) =>
    `https://github.com/versity/versitygw/releases/download/v${VERSION}/${archiveName(...machine)}.tar.gz`,
  // SHA-256 of the release's archives, identical in ten public repositories that pin them.
  checksums: {
    linux_amd64: '2ba2c734d10d2c4e651d03182cb4b246656bc735a2f282db7b0b73fba6073467',
    linux_arm64: 'b34051d33f5a9c457f790896acb7bd7d7e15ad8d92efb70616b924f37e401910',
    darwin_amd64: '104bd978e80ef0173554cfd8630ccc5bac24b00da440510b60365a3b6b6ab134',
    darwin_arm64: '4953096f65a9c0d62ab184fb6b2ba7c2435229205cf00a56cb62cd4bf6b216ca',
  },
  archiveFolder: archiveName,
  goModule: 'github.com/versity/versitygw/cmd/versitygw',
  instead: 'use an S3 that runs',
};

function archiveName(system: string, processor: string): string {
  return `versitygw_v${VERSION}_${system[0]!.toUpperCase()}${system.slice(1)}_${processor === 'amd64' ? 'x86_64' : processor}`;
}

export async function startS3({ dataDir, say, accessKeyId, secretAccessKey }: S3Options): Promise<EmbeddedS3> {
  const command = await findProgram(s3Program, { say });
  const start = performance.now();
  const port = await rememberedPort(dataDir, 's3', say);
  const objects = area(dataDir, 's3');
  const child = startChild({
    dataDir,
    name: 's3',
    command,
    stopSignal: 'SIGTERM',
    // Neither path may begin with the other.
    args: [
      '--port',
      `127.0.0.1:${port}`,
      '--region',
      REGION,
      '--quiet',
      'posix',
      '--sidecar',
      area(dataDir, 'metadata-of-s3'),
      objects,
    ],
    // Not as arguments, which other users can see.
    options: {
      env: { PATH: process.env.PATH, HOME: objects, ROOT_ACCESS_KEY: accessKeyId, ROOT_SECRET_KEY: secretAccessKey },
    },
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

/** Waits until it answers; it refuses requests without a signature. */
async function ready(endpoint: string, child: Child): Promise<void> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    const isServing = await fetch(endpoint).then(
      async (answer) => {
        await answer.body?.cancel();
        return answer.status === 403;
      },
      () => false,
    );
    if (isServing) return;
    if (child.hasEnded() || performance.now() > deadline) throw child.didNotStart();
    await delay(20);
  }
}

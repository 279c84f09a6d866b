/** The demo's S3, with one bucket. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { CreateBucketCommand, GetObjectCommand, S3Client, type S3ServiceException } from '@aws-sdk/client-s3';
import { CannotStart } from '../cannot-start.ts';
import { keptSecret } from '../embedded/secret-key.ts';
import { startS3 } from '../embedded/s3.ts';
import type { Say } from '../embedded/say.ts';

export type DemoBucket = {
  name: string;
  endpoint: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
  folder: string;
  read(key: string): Promise<Buffer>;
  stop(): Promise<void>;
};

/** Returns the settings by which an exporter reaches the bucket. */
export const exporterTo = (bucket: DemoBucket) =>
  ({
    export_configuration: 'aws_secret_key',
    endpoint: bucket.endpoint,
    aws_region: bucket.region,
    aws_access_key_id: bucket.accessKeyId,
    aws_secret_access_key: bucket.secretAccessKey,
    bucket_name: bucket.name,
    include_headers: true,
  }) as const;

const NAME = 'demo-exports';
const ACCESS_KEY_ID = 'millrace-demo';
const SECRET_BYTES = 20;

/** Returns null, and says why, without the program. Keeps the key, which exporters of earlier demos use. */
export async function startDemoS3(dataDir: string, say: Say): Promise<DemoBucket | null> {
  const accessKeyId = ACCESS_KEY_ID;
  const secretAccessKey = await keptSecret(join(dataDir, 's3-secret-key'), () =>
    randomBytes(SECRET_BYTES).toString('hex'),
  );
  try {
    const { endpoint, region, stop } = await startS3({ dataDir, say, accessKeyId, secretAccessKey });
    const client = new S3Client({
      endpoint,
      region,
      forcePathStyle: true,
      credentials: { accessKeyId, secretAccessKey },
    });
    const bucket: DemoBucket = {
      name: NAME,
      endpoint,
      region,
      accessKeyId,
      secretAccessKey,
      folder: join(dataDir, 's3', NAME),
      async read(Key) {
        const { Body } = await client.send(new GetObjectCommand({ Bucket: NAME, Key }));
        return Buffer.from(await Body!.transformToByteArray());
      },
      async stop() {
        client.destroy();
        await stop();
      },
    };
    await makeBucket(client).catch(async (error: Error) => {
      await bucket.stop();
      throw new CannotStart(`It makes no bucket: ${error.message}`, { cause: error });
    });
    return bucket;
  } catch (error) {
    if (!(error instanceof CannotStart)) throw error;
    say(`s3: the demo goes on without it, and shows no export\n${error.message}`);
    return null;
  }
}

async function makeBucket(client: S3Client): Promise<void> {
  await client.send(new CreateBucketCommand({ Bucket: NAME })).catch((error: S3ServiceException) => {
    if (error.name !== 'BucketAlreadyOwnedByYou') throw error;
  });
}

/** Reads the bucket that exports go to. */
import {
  GetObjectCommand,
  HeadObjectCommand,
  paginateListObjectsV2,
  S3Client,
  type S3ServiceException,
} from '@aws-sdk/client-s3';
import { refuse } from '../../domain/core/refusal.ts';
import { ObjectRefused } from './object-refused.ts';

export type BucketOptions = { bucket: string; region?: string; endpoint?: string };

export type ExportsBucket = {
  list(prefix: string): AsyncIterable<string>;
  /** Returns null for an unknown key. Throws an `ObjectRefused`, as `read` does. */
  size(key: string): Promise<number | null>;
  read(key: string): Promise<AsyncIterable<Uint8Array> | null>;
  close(): void;
};

/** Opens the bucket with the credentials that the AWS command line would use. */
export function openExportsBucket({ bucket, region, endpoint }: BucketOptions): ExportsBucket {
  // oxlint-disable-next-line node/no-process-env -- the SDK reads its settings there, too
  const isElsewhere = endpoint ?? process.env.AWS_ENDPOINT_URL_S3 ?? process.env.AWS_ENDPOINT_URL;
  const client = new S3Client({
    ...(region === undefined ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
    followRegionRedirects: true,
    forcePathStyle: isElsewhere !== undefined,
  });
  const asked = async <T>(answer: Promise<T>, what: string): Promise<T | null> =>
    answer.catch((error: S3ServiceException) => {
      if (error.name !== 'NoSuchBucket' && error.$metadata?.httpStatusCode === 404) return null;
      if (isOfObject(error)) throw new ObjectRefused(what, reasonOf(error));
      return refuseAsS3(error, what);
    });
  return {
    async *list(prefix) {
      try {
        for await (const page of paginateListObjectsV2({ client }, { Bucket: bucket, Prefix: prefix })) {
          for (const { Key } of page.Contents ?? []) yield Key!;
        }
      } catch (error) {
        refuseAsS3(error as S3ServiceException, `the list of ${bucket}`);
      }
    },
    async size(key) {
      const head = await asked(client.send(new HeadObjectCommand({ Bucket: bucket, Key: key })), key);
      return head && (head.ContentLength ?? null);
    },
    async read(key) {
      const object = await asked(client.send(new GetObjectCommand({ Bucket: bucket, Key: key })), key);
      return object && whole(object.Body as AsyncIterable<Uint8Array>, key);
    },
    close: () => client.destroy(),
  };
}

async function* whole(body: AsyncIterable<Uint8Array>, key: string): AsyncGenerator<Uint8Array> {
  try {
    yield* body;
  } catch (error) {
    refuseAsS3(error as S3ServiceException, key);
  }
}

/** Returns whether only this object is refused. A fault of the credentials affects all. */
function isOfObject({ name, $metadata }: S3ServiceException): boolean {
  return (
    $metadata?.httpStatusCode === 403 &&
    !['InvalidAccessKeyId', 'SignatureDoesNotMatch', 'RequestTimeTooSkewed'].includes(name)
  );
}

function reasonOf({ name, message, $metadata }: S3ServiceException): string {
  const status = $metadata?.httpStatusCode;
  return `${name}${status === undefined ? '' : ` (${status})`}: ${message}`;
}

/** Refuses in S3's own words, with advice if they are hard to understand. */
function refuseAsS3(error: S3ServiceException, what: string): never {
  const { name, message } = error;
  const hint =
    name === 'CredentialsProviderError'
      ? ' Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.'
      : message === 'Region is missing'
        ? '. Name it by --region, or set AWS_REGION.'
        : '';
  return refuse(502, 's3', `S3 does not give ${what}: ${reasonOf(error)}${hint}`);
}

import { z } from 'zod';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import { BUCKET_NAME, REGION_NAME } from '../../domain/exports/s3-names.ts';
import { secret } from '../core/contract.ts';
import { refineBy } from '../core/refine-by.ts';
import { fileSettings } from '../files/file-settings.ts';

const text = (name: string, most: number) =>
  z
    .string({ error: `${name} must be a text` })
    .max(most, `${name} must have at most ${most.toLocaleString('en')} characters`);
const key = (name: string) =>
  text(name, 1_024).refine((value) => !/\p{Cc}/u.test(value), `${name} must have no control characters`);

export const s3Settings = z
  .object({
    endpoint: text('endpoint', 2_048)
      .superRefine(
        refineBy(
          'endpoint',
          (value) => sourceUrlError(value) ?? (/[?#]/.test(value) ? 'must have no ? and no #' : undefined),
        ),
      )
      .optional()
      .describe(
        "The address of an S3 that is not Amazon's, such as https://minio.example.com; the bucket goes into the path",
      ),
    region: z
      .string({ error: 'region must be a text' })
      .regex(REGION_NAME, 'region must be a name such as eu-central-1')
      .default('us-east-1')
      .describe('The region of the bucket'),
    bucket: z
      .string({ error: 'bucket must be a text' })
      .regex(BUCKET_NAME, 'bucket must be the name of a bucket, without s3://')
      .describe('The name of the bucket'),
    access_key_id: text('access_key_id', 256)
      .min(1, 'access_key_id must not be empty')
      .describe('The id of an access key with the right s3:GetObject and, for a prefix, s3:ListBucket'),
    secret_access_key: secret(text('secret_access_key', 256).min(1, 'secret_access_key must not be empty')).describe(
      'The secret of the access key',
    ),
    key: key('key').min(1, 'key must not be empty').optional().describe('The key of one file'),
    prefix: key('prefix')
      .optional()
      .describe('How the keys of files begin, such as exports/people/; empty: all files of the bucket'),
    ...fileSettings,
  })
  .refine(({ key: one, prefix }) => (one === undefined) !== (prefix === undefined), {
    message: 'either key, for one file, or prefix, for many, must be set',
    path: ['key'],
  });

export type S3Settings = z.output<typeof s3Settings>;
export type BucketSettings = Pick<S3Settings, 'endpoint' | 'region' | 'bucket' | 'access_key_id' | 'secret_access_key'>;

import { createHash } from 'node:crypto';
import { S3Client } from '@aws-sdk/client-s3';
import { systemLookup } from '../core/address-guard.ts';
import type { ConnectorContext } from '../core/contract.ts';
import type { FetchAllow } from '../core/fetch-allow.ts';
import { type PoolLimits, requestPool } from '../core/request-pool.ts';
import { amazonS3 } from './amazon-s3.ts';
import type { BucketAccess } from './bucket-access.ts';
import { type ExportRight, refusalOfBucket } from './export-refusal.ts';
import { handlerOver } from './guarded-handler.ts';
import { type CredentialSource, keyCredentials, roleCredentials } from './role-credentials.ts';
import { type RetryOptions, withRetries } from './with-retries.ts';

/** How long a bucket may take, and be troubled. */
export type Patience = Omit<PoolLimits, 'leastRate'> & { retryMs: number } & Pick<RetryOptions, 'firstWaitMs'>;

/** A connection that moves nothing for a minute stalls; to put a file of many parts together may take two. */
export const PATIENCE: Patience = { connectMs: 10_000, idleMs: 60_000, answerMs: 120_000, retryMs: 60_000 };

/** `again`: an earlier try may have got through. */
type Send<T> = (client: S3Client, options: { abortSignal: AbortSignal }, again: boolean) => Promise<T>;

export type ExportClient = {
  /** A request that needs `right`, tried again where that may help. */
  ask<T>(right: ExportRight, send: Send<T>, how?: { signal?: AbortSignal; isCleanUp?: boolean }): Promise<T>;
  close(): void;
};

/** For what is tidied up when all else has been given up. */
const CLEAN_UP_MS = 15_000;

const EVERYWHERE: FetchAllow = { allows: () => true };

/**
 * Reached with these settings and no others: neither the environment nor the machine's host is asked, but for assuming
 * a role.
 */
export function exportClient(
  access: BucketAccess,
  { allow, fetch, signal }: Pick<ConnectorContext, 'allow' | 'fetch' | 'signal'>,
  patience: Patience,
): ExportClient {
  const { bucket, region } = access;
  const endpoint = access.endpoint ?? amazonS3(region);
  const isRole = 'roleName' in access.credentials;
  const source =
    'roleName' in access.credentials
      ? roleCredentials(access.credentials, region, signal)
      : keyCredentials(access.credentials);
  const limits = { ...patience, leastRate: fetch.limits.leastRate };
  const pool = requestPool({ allow: access.endpoint === null ? EVERYWHERE : allow, lookup: systemLookup, limits });
  const client = sdkClient(access, endpoint, source, pool.request);
  const asked = {
    host: new URL(endpoint).host,
    bucket,
    region,
    isRole,
    secrets: isRole ? {} : { secret: secretOf(access) },
    isEncryptionAsked: Boolean(access.encryption),
    isMd5Sent: access.contentMd5 === true,
  };
  return {
    async ask(right, send, { signal: own, isCleanUp = false } = {}) {
      const ends = isCleanUp
        ? AbortSignal.timeout(CLEAN_UP_MS)
        : AbortSignal.any([signal, ...(own === undefined ? [] : [own])]);
      let used = source.held();
      const once = async (again: boolean) => {
        used = source.held();
        return send(client, { abortSignal: ends }, again).catch((error: unknown) => {
          ends.throwIfAborted();
          throw refusalOfBucket({ ...asked, right }, error);
        });
      };
      const { retryMs: withinMs, firstWaitMs } = patience;
      return withRetries(once, {
        signal: ends,
        withinMs,
        firstWaitMs,
        renew: isRole ? () => source.renew(used) : null,
      });
    },
    close() {
      client.destroy();
      source.close();
      void pool.close();
    },
  };
}

function secretOf({ credentials }: BucketAccess): string {
  return 'secretAccessKey' in credentials ? credentials.secretAccessKey : '';
}

function sdkClient(
  access: BucketAccess,
  endpoint: string,
  source: CredentialSource,
  send: Parameters<typeof handlerOver>[0],
): S3Client {
  const client = new S3Client({
    endpoint,
    region: access.region,
    forcePathStyle: access.endpoint !== null,
    requestHandler: handlerOver(send),
    // As ended, so that the SDK asks each time, and credentials that were renewed count at once.
    credentials: async () => ({ ...(await source.get()), expiration: new Date(0) }),
    maxAttempts: 1,
    retryMode: 'standard',
    defaultsMode: 'standard',
    expectContinueHeader: false,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    useDualstackEndpoint: false,
    useFipsEndpoint: false,
    useArnRegion: false,
    disableS3ExpressSessionAuth: true,
    userAgentAppId: 'millrace',
  });
  if (endpoint.startsWith('https:')) leaveBodiesToTls(client);
  if (access.contentMd5) sendContentMd5(client);
  return client;
}

/** For buckets that know of no other checksum, or have a lock on their objects and want this one. */
function sendContentMd5(client: S3Client): void {
  client.middlewareStack.add(
    (next) => (args) => {
      const { headers, body } = args.request as { headers: Record<string, string>; body?: unknown };
      if (typeof body === 'string' || Buffer.isBuffer(body))
        headers['content-md5'] = createHash('md5').update(body).digest('base64');
      return next(args);
    },
    { step: 'build', name: 'sendContentMd5' },
  );
}

/**
 * What TLS protects need not be hashed for the signature, too; the checksum of a file's bytes is a header that is
 * signed.
 */
function leaveBodiesToTls(client: S3Client): void {
  client.middlewareStack.add(
    (next) => (args) => {
      const { headers, body } = args.request as { headers: Record<string, string>; body?: unknown };
      if (Buffer.isBuffer(body)) headers['x-amz-content-sha256'] = 'UNSIGNED-PAYLOAD';
      return next(args);
    },
    { step: 'build', name: 'leaveBodiesToTls' },
  );
}

import { Refusal } from '../../domain/core/refusal.ts';
import { refusalOfAnswer, refusalOfFailure, sourceRefusal } from '../core/source-refusal.ts';

/** By S3's error codes (Amazon S3 API reference: Error responses). */
const ADVICE: Record<string, string> = {
  InvalidAccessKeyId: 'it does not know this access_key_id',
  XAdminUserNotFound: 'it does not know this access_key_id', // versitygw's
  SignatureDoesNotMatch: 'check secret_access_key: it does not fit access_key_id',
  AccessDenied: 'access_key_id lacks a right: it needs s3:GetObject and, for a prefix, s3:ListBucket',
  NoSuchBucket: 'check bucket: there is none of this name',
  NoSuchKey: 'check key: there is no such file',
  InvalidObjectState: 'the file is archived: restore it first',
  PermanentRedirect: 'check region: the bucket is in another',
  AuthorizationHeaderMalformed: 'check region: the bucket is in another',
  RequestTimeTooSkewed: 'its clock and the one here are over 15 minutes apart: set them right',
};

/** What the SDK's errors tell: S3's code, which is their name, its message, and the answer they came with. */
export type S3Error = {
  code: string | undefined;
  message: string;
  status: number | undefined;
  headers: Record<string, string>;
};

type SdkError = {
  name?: unknown;
  $metadata?: { httpStatusCode?: number };
  $response?: { statusCode?: number; headers?: Record<string, string> };
};

export function s3Error(error: unknown): S3Error {
  const { name, $metadata, $response } = error as SdkError;
  return {
    code: typeof name === 'string' ? name : undefined,
    message: error instanceof Error ? error.message : '',
    status: $response?.statusCode ?? $metadata?.httpStatusCode,
    headers: $response?.headers ?? {},
  };
}

/** Whether an answer says nothing against the request, but that it comes at a bad time. */
export function isPassingStatus(status: number): boolean {
  return status >= 500 || status === 408 || status === 429;
}

/** The refusal for what a request to S3 came to; S3's own messages quote keys and are not passed on. */
export function refusalOfS3(host: string, error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const { code: name, status, headers } = s3Error(error);
  if (status === undefined) return refusalOfFailure(host, error);
  if (isPassingStatus(status)) return refusalOfAnswer(host, status, headers['retry-after']);
  const code = name !== undefined && Object.hasOwn(ADVICE, name) ? name : undefined;
  const why = code === undefined ? 'check endpoint, bucket and key' : ADVICE[code]!;
  const answered = status < 300 ? 'in something that is not S3' : `${status}${code === undefined ? '' : ` ${code}`}`;
  return sourceRefusal('source_refused', `${host} answered ${answered}: ${why}`, {
    source_status: status,
    ...(code === undefined ? {} : { source_code: code }),
  });
}

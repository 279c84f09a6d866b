import { Refusal } from '../../domain/core/refusal.ts';
import { shorten } from '../../domain/text/text-limits.ts';
import { redacted } from '../core/redacted.ts';
import { refusalOfAnswer, refusalOfFailure, sourceRefusal } from '../core/source-refusal.ts';
import { isPassingStatus, PASSING_CODES, S3_RIGHTS, type S3Error, s3Error, type S3Right } from './s3-requests.ts';

/** What a request was about: for the words of its refusal. */
export type BucketRequest = {
  host: string;
  bucket: string;
  region: string;
  right: S3Right;
  isRole: boolean;
  /** Whether uploads name an encryption, and requests carry Content-MD5. */
  isEncryptionAsked: boolean;
  isMd5Sent: boolean;
  /** None of these is passed on, wherever the other side may quote it. */
  secrets: object;
};

type Advice = string | ((asked: BucketRequest, error: S3Error) => string);

const WRONG_REGION: Advice = ({ region }, { headers }) => {
  const told = headers['x-amz-bucket-region'];
  return `check aws_region: the bucket is not in ${region}${told === undefined ? '' : ` but in ${told}`}`;
};
const UNKNOWN_KEY: Advice = ({ isRole }) =>
  isRole
    ? 'it does not know the credentials of the role: they may not have spread yet'
    : 'it does not know this aws_access_key_id: check whether it was deleted or deactivated';

/** By S3's error codes (Amazon S3 API reference: Error responses). */
const ADVICE: Record<string, Advice> = {
  InvalidAccessKeyId: UNKNOWN_KEY,
  XAdminUserNotFound: UNKNOWN_KEY, // versitygw's
  SignatureDoesNotMatch: 'check aws_secret_access_key: it does not fit aws_access_key_id',
  AccessDenied: (asked, error) => {
    const lacks = `the ${asked.isRole ? 'role' : 'key'} lacks ${missingRight(asked, error)}: see the policy of the exporter`;
    return asked.right === S3_RIGHTS.put && !asked.isEncryptionAsked
      ? `${lacks}, or the bucket denies uploads that name no encryption: a check of the exporter finds out`
      : lacks;
  },
  AllAccessDisabled: 'Amazon has locked the bucket: ask its owner',
  AccountProblem: 'Amazon has locked the account: ask its owner',
  NoSuchBucket: ({ bucket }) => `check bucket_name: there is no bucket ${bucket}`,
  PermanentRedirect: WRONG_REGION,
  AuthorizationHeaderMalformed: WRONG_REGION,
  IllegalLocationConstraintException: WRONG_REGION,
  RequestTimeTooSkewed: 'its clock and the one here are over 15 minutes apart: set them right',
  ExpiredToken: 'the credentials have expired',
  InvalidToken: 'the credentials are not valid: give them anew',
  QuotaExceeded: 'the storage is full: make room or raise the quota',
  XMinioStorageFull: 'the storage is full: make room',
  InvalidStorageClass: 'the bucket does not take files of the standard class',
};

const LONGEST_MESSAGE = 500;

/** The refusal for what a request to a customer's bucket came to, with the provider's own code and words. */
export function refusalOfBucket(asked: BucketRequest, error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const answer = s3Error(error);
  if (answer.status === undefined) return refusalOfFailure(asked.host, error);
  const code = codeOf(answer);
  const said = wordsOf(asked, answer, code);
  const extra = { source_status: answer.status, ...(code === undefined ? {} : { source_code: code }) };
  if (isPassing(asked, answer.status, code)) {
    const { message, extra: more } = refusalOfAnswer(
      asked.host,
      Math.max(answer.status, 500),
      answer.headers['retry-after'],
    );
    const when = message.slice(message.indexOf(': ') + 2);
    return sourceRefusal('source_unavailable', `${said}: ${when}`, { ...more, ...extra });
  }
  if (wantsMd5(asked, answer, code)) {
    const advice = 'the bucket wants Content-MD5 with each request that deletes: set content_md5 to true';
    return sourceRefusal('source_refused', `${said}: ${advice}`, { ...extra, setting: 'content_md5' });
  }
  const missing = code === 'AccessDenied' ? { missing_right: missingRight(asked, answer) } : {};
  return sourceRefusal('source_refused', `${said}: ${adviceFor(asked, answer, code)}`, { ...extra, ...missing });
}

/** Amazon says InvalidRequest, and names the header. */
function wantsMd5({ isMd5Sent }: BucketRequest, { message }: S3Error, code: string | undefined): boolean {
  return !isMd5Sent && (code === 'MissingContentMD5' || (code === 'InvalidRequest' && /content-md5/i.test(message)));
}

/** Names of errors that are the SDK's. */
const MADE_UP = /^(?:Unknown|UnknownError|Error|SyntaxError|NotFound)$/;

/** Of an answer without a body, as to HEAD, the SDK makes a name of its own. */
function codeOf({ code, status }: S3Error): string | undefined {
  if (status === 403 && (code === 'Forbidden' || code === '403' || code === 'UnknownError' || code === 'Unknown'))
    return 'AccessDenied';
  if (status === 301 && code !== 'PermanentRedirect') return 'PermanentRedirect';
  return code !== undefined && /^[A-Z][A-Za-z\d]{2,63}$/.test(code) && !MADE_UP.test(code) ? code : undefined;
}

function isPassing({ isRole }: BucketRequest, status: number, code: string | undefined): boolean {
  return (
    isPassingStatus(status) || (code !== undefined && PASSING_CODES.has(code)) || (code === 'ExpiredToken' && isRole)
  );
}

function wordsOf(
  { host, bucket, secrets }: BucketRequest,
  { status, message }: S3Error,
  code: string | undefined,
): string {
  if (status! < 300) return `${host} answered in something that is not S3`;
  const answered = `${host} answered ${status}${code === undefined ? '' : ` ${code}`} for the bucket ${bucket}`;
  const own = shorten(redacted(message, secrets).replace(/\s+/g, ' ').trim().replace(/\.$/, ''), LONGEST_MESSAGE);
  return code === undefined || own === '' || own === code || /^Unknown(?:Error)?$/.test(own)
    ? answered
    : `${answered} ("${own}")`;
}

function adviceFor(asked: BucketRequest, error: S3Error, code: string | undefined): string {
  const advice =
    code !== undefined && Object.hasOwn(ADVICE, code) ? ADVICE[code]! : 'check endpoint, bucket_name and aws_region';
  return typeof advice === 'string' ? advice : advice(asked, error);
}

/**
 * The right that the provider names, as kms:GenerateDataKey for a bucket with a key of its own, or else what the
 * request needs.
 */
function missingRight({ right }: BucketRequest, { message }: S3Error): string {
  return /not authorized to perform:? ([a-z\d-]+:[A-Za-z]+)/.exec(message)?.[1] ?? right;
}

/** Credentials for exports: of a role that is assumed, or a key. */
import { AssumeRoleCommand, type AssumeRoleCommandOutput, STSClient } from '@aws-sdk/client-sts';
import { fromNodeProviderChain } from '@aws-sdk/credential-providers';
import { Refusal } from '../../domain/core/refusal.ts';
import { awsPartition } from '../../domain/exports/aws-partition.ts';
import { refusalOfAnswer, refusalOfFailure, sourceRefusal } from '../core/source-refusal.ts';
import { isPassingStatus, s3Error } from './s3-requests.ts';

/** A role in a customer's AWS account, with the external id of its trust policy. */
export type ExportRole = { accountId: string; roleName: string; externalId: string };

export type Credentials = { accessKeyId: string; secretAccessKey: string; sessionToken?: string; expiration?: Date };

export type CredentialSource = {
  /** Returns the current credentials, or new ones if these expire soon. */
  get(): Promise<Credentials>;
  /** Returns the last credentials. */
  held(): Credentials | undefined;
  /** Replaces these credentials, unless another caller has done so. */
  renew(used: Credentials | undefined): Promise<unknown>;
  close(): void;
};

const SESSION_NAME = 'millrace-exporter';
const SESSION_SECONDS = 3_600;
/** Time before their end at which credentials are renewed: a request may take as long. */
const EARLY_MS = 5 * 60_000;
const LIMITS = { connectionTimeout: 10_000, requestTimeout: 30_000 };
/** From a request to the end of its answer: the other timeouts restart with each byte. */
const TOTAL_MS = 60_000;

const NO_CREDENTIALS =
  'this server has no AWS credentials with which to assume the role: an operator has to give it an instance or ' +
  'task role, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY where it runs';

/**
 * Returns credentials of a role, assumed with the server's own default AWS chain, and renewed before they expire. STS
 * is that of the region, or the SDK's AWS_ENDPOINT_URL_STS. Refuses a role that requires no external id.
 */
export function roleCredentials(
  role: ExportRole,
  region: string,
  signal: AbortSignal,
  totalMs = TOTAL_MS,
): CredentialSource {
  const client = new STSClient({ region, requestHandler: LIMITS, credentials: ownCredentials(region) });
  const arn = `arn:${awsPartition(region).name}:iam::${role.accountId}:role/${role.roleName}`;
  const ask: AskSts = (asked) => {
    const command = new AssumeRoleCommand({
      RoleArn: arn,
      RoleSessionName: SESSION_NAME,
      DurationSeconds: SESSION_SECONDS,
      ...asked,
    });
    const late = AbortSignal.timeout(totalMs);
    return client.send(command, { abortSignal: AbortSignal.any([signal, late]) }).catch((error: unknown) => {
      signal.throwIfAborted();
      throw refusalOfSts({ arn, region, role }, late.aborted ? timedOut() : error);
    });
  };
  let isProved = false;
  const assume = async (): Promise<Credentials> => {
    const { Credentials: given } = await ask({ ExternalId: role.externalId });
    if (!isProved) await refuseOpenRole(ask, arn, role);
    isProved = true;
    const {
      AccessKeyId: accessKeyId,
      SecretAccessKey: secretAccessKey,
      SessionToken: sessionToken,
      Expiration,
    } = given ?? {};
    if (!accessKeyId || !secretAccessKey || !sessionToken)
      throw sourceRefusal('source_refused', `STS gave no credentials for ${arn}`);
    return {
      accessKeyId,
      secretAccessKey,
      sessionToken,
      ...(Expiration === undefined ? {} : { expiration: Expiration }),
    };
  };
  return { ...renewable(assume), close: () => client.destroy() };
}

type AskSts = (asked: { ExternalId?: string }) => Promise<AssumeRoleCommandOutput>;

/**
 * Checks that AWS refuses the role without the external id: otherwise any user of this server could name the role (IAM:
 * the confused deputy).
 */
async function refuseOpenRole(ask: AskSts, arn: string, { externalId }: ExportRole): Promise<void> {
  const isOpen = await ask({}).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Refusal && error.extra['source_code'] === 'AccessDenied') return false;
      throw error;
    },
  );
  if (!isOpen) return;
  throw sourceRefusal(
    'source_refused',
    `the role ${arn} can be assumed without an external id, and so by everybody who uses this server: ` +
      `its trust policy needs the condition that sts:ExternalId is ${externalId}`,
    { source_code: 'NoExternalId' },
  );
}

/** Shares one request among concurrent callers. */
function renewable(assume: () => Promise<Credentials>): Omit<CredentialSource, 'close'> {
  let held: Credentials | undefined;
  let goodUntilMs = 0;
  let pending: Promise<Credentials> | undefined;
  const hold = (given: Credentials) => {
    const now = Date.now();
    const endMs = given.expiration?.getTime() ?? now + SESSION_SECONDS * 1_000;
    goodUntilMs = endMs - Math.min(EARLY_MS, (endMs - now) / 2);
    held = given;
    return given;
  };
  const renewed = () => {
    pending ??= assume()
      .then(hold)
      .finally(() => {
        pending = undefined;
      });
    return pending;
  };
  return {
    held: () => held,
    get: async () => (held && Date.now() < goodUntilMs ? held : renewed()),
    renew: async (used) => (held === used || pending ? renewed() : undefined),
  };
}

/** Returns the SDK's own chain: environment, files, web identity, container, instance. */
function ownCredentials(region: string) {
  const chain = fromNodeProviderChain({ clientConfig: { region } });
  return async () =>
    chain().catch((error: unknown) => {
      const { name, message } = error as Error;
      if (name !== 'CredentialsProviderError') throw error;
      const isNone = /Could not load credentials from any providers/.test(message);
      throw sourceRefusal(
        'source_refused',
        isNone ? NO_CREDENTIALS : `${NO_CREDENTIALS}. What it has does not work (${message})`,
        {
          source_code: 'NoCredentials',
        },
      );
    });
}

type Asked = { arn: string; region: string; role: ExportRole };

const PASSING = new Set(['Throttling', 'ThrottlingException', 'IDPCommunicationError', 'RequestTimeout']);

function refusalOfSts({ arn, region, role }: Asked, error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const { code, message, status, headers } = s3Error(error);
  if (status === undefined) return refusalOfFailure(`STS of ${region}`, named(error));
  const words = `STS of ${region} answered ${status} ${code ?? ''}`.trim();
  const own = message === '' ? '' : ` ("${message.replace(/\s+/g, ' ').replace(/\.$/, '')}")`;
  const extra = { source_status: status, ...(code === undefined ? {} : { source_code: code }) };
  if (isPassingStatus(status) || PASSING.has(code ?? '')) {
    const { extra: more } = refusalOfAnswer('STS', Math.max(status, 500), headers['retry-after']);
    return sourceRefusal('source_unavailable', `${words}: it may go better later`, { ...more, ...extra });
  }
  return sourceRefusal('source_refused', `${words}${own}: ${adviceFor(code, arn, role, region)}`, extra);
}

const timedOut = () => Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' });

/** The SDK's handler gives its own timeouts a name and no code. */
function named(error: unknown): unknown {
  const { name, code } = error as { name?: unknown; code?: unknown };
  return code === undefined && name === 'TimeoutError' ? timedOut() : error;
}

function adviceFor(code: string | undefined, arn: string, { externalId }: ExportRole, region: string): string {
  if (code === 'AccessDenied' || code === 'AccessDeniedException') {
    return (
      `the role ${arn} cannot be assumed. Check aws_account_id and aws_role_name, that the role's trust policy names this server's ` +
      `AWS identity as principal, and that its condition on sts:ExternalId is ${externalId}`
    );
  }
  if (code === 'RegionDisabledException')
    return `an operator has to activate STS of ${region} in this server's AWS account`;
  return 'the AWS credentials of this server do not work: an operator has to renew them';
}

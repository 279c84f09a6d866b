import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { onFileEnd } from '../core/clean-up.ts';
import { rememberSecret } from '../core/people.ts';

type StsSettings = {
  role: { accountId: string; roleName: string; externalId: string };
  /** What whoever assumes the role can do in S3. */
  credentials: { accessKeyId: string; secretAccessKey: string };
  partition?: string;
};

export type TestSts = {
  /** Of a process whose default AWS chain is to use this STS, with credentials of its own. */
  env: Record<string, string>;
  /** What was asked for, in its order. */
  asked: { roleArn: string; externalId: string | null; sessionName: string; region: string }[];
  /** Whether a session token was given here and counts still. */
  isGood(token: string | undefined): boolean;
  /** All tokens that were given so far count no more, whatever was said of their end. */
  expire(): void;
  /** How long the tokens that are given from now on are said to count. */
  lastFor(ms: number): void;
  /** Has the role's trust policy ask for its external id, as it does at first, or for none. */
  askForId(isAsked: boolean): void;
  /** Has the next `times` requests answered so, and not as they deserve. */
  fail(status: number, code: string, times?: number): void;
};

const CALLER = 'arn:aws:iam::999999999999:user/millrace';

/** An STS that knows AssumeRole of one role, and refuses as Amazon's does. Ends with the test file. */
export async function testSts({ role, credentials, partition = 'aws' }: StsSettings): Promise<TestSts> {
  const arn = `arn:${partition}:iam::${role.accountId}:role/${role.roleName}`;
  const own = {
    accessKeyId: `AKIA${randomBytes(8).toString('hex').toUpperCase()}`,
    secret: randomBytes(20).toString('hex'),
  };
  rememberSecret(own.secret);
  const good = new Set<string>();
  const asked: TestSts['asked'] = [];
  let lastsMs = 3_600_000;
  let isIdAsked = true;
  let failures: { status: number; code: string; left: number } | undefined;
  const server = createServer(
    (request, response) =>
      void text(request).then((body) => {
        const form = new URLSearchParams(body);
        const [, key, region = ''] =
          /Credential=([^/]+)\/\d+\/([^/]+)\/sts\//.exec(request.headers.authorization ?? '') ?? [];
        const roleArn = form.get('RoleArn') ?? '';
        asked.push({
          roleArn,
          externalId: form.get('ExternalId'),
          sessionName: form.get('RoleSessionName') ?? '',
          region,
        });
        if (failures && failures.left > 0) {
          failures.left -= 1;
          return refuse(response, failures.status, failures.code, 'Not now.');
        }
        if (key !== own.accessKeyId) {
          return refuse(
            response,
            403,
            'InvalidClientTokenId',
            'The security token included in the request is invalid.',
          );
        }
        const isTrusted = !isIdAsked || form.get('ExternalId') === role.externalId;
        if (form.get('Action') !== 'AssumeRole' || roleArn !== arn || !isTrusted) {
          const message = `User: ${CALLER} is not authorized to perform: sts:AssumeRole on resource: ${roleArn}`;
          return refuse(response, 403, 'AccessDenied', message);
        }
        const token = randomBytes(24).toString('base64');
        rememberSecret(token);
        good.add(token);
        return assumed(response, { arn, ...credentials, token, end: new Date(Date.now() + lastsMs) });
      }),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onFileEnd(async () => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  });
  return {
    env: {
      AWS_ENDPOINT_URL_STS: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_ACCESS_KEY_ID: own.accessKeyId,
      AWS_SECRET_ACCESS_KEY: own.secret,
    },
    asked,
    isGood: (token) => token !== undefined && good.has(token),
    expire: () => good.clear(),
    lastFor(ms) {
      lastsMs = ms;
    },
    askForId(isAsked) {
      isIdAsked = isAsked;
    },
    fail(status, code, times = 1) {
      failures = { status, code, left: times };
    },
  };
}

const XMLNS = 'xmlns="https://sts.amazonaws.com/doc/2011-06-15/"';

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  response
    .writeHead(status, { 'content-type': 'text/xml' })
    .end(
      `<ErrorResponse ${XMLNS}><Error><Type>Sender</Type><Code>${code}</Code>` +
        `<Message>${message}</Message></Error><RequestId>b6b5f2ef-0d0b-4ea1-8f5e-0c3a3f4f2b6d</RequestId></ErrorResponse>`,
    );
}

type Given = { arn: string; accessKeyId: string; secretAccessKey: string; token: string; end: Date };

function assumed(response: ServerResponse, { arn, accessKeyId, secretAccessKey, token, end }: Given): void {
  response
    .writeHead(200, { 'content-type': 'text/xml' })
    .end(
      `<AssumeRoleResponse ${XMLNS}><AssumeRoleResult>` +
        `<AssumedRoleUser><Arn>${arn}/millrace</Arn><AssumedRoleId>AROA:millrace</AssumedRoleId></AssumedRoleUser><Credentials>` +
        `<AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey><SessionToken>${token}</SessionToken>` +
        `<Expiration>${end.toISOString()}</Expiration></Credentials></AssumeRoleResult>` +
        '<ResponseMetadata><RequestId>c6104cbe-af31-11e0-8154-cbc7ccf896c7</RequestId></ResponseMetadata></AssumeRoleResponse>',
    );
}

import { afterAll, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import type { BucketAccess } from '../../../connectors/s3/export-bucket.ts';
import { probeBucket } from '../../../connectors/s3/probe-bucket.ts';
import { type S3Proxy, s3Error, s3Proxy } from '../../harness/core/s3-proxy.ts';
import { type TestS3, testS3 } from '../../harness/core/s3.ts';
import { type TestSts, testSts } from '../../harness/exports/sts.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { accessTo, MIB, opened, refusal, stream, whole } from './use-export-bucket.ts';

const ROLE = { accountId: '123456789012', roleName: 'millrace-exports', externalId: 'c0ffee00c0ffee00' };

let s3: TestS3;
let proxy: S3Proxy;
let sts: TestSts;
// It may have to be built first.
beforeAll(async () => {
  s3 = await testS3();
  proxy = await s3Proxy(s3.settings.endpoint);
  const { access_key_id: accessKeyId, secret_access_key: secretAccessKey } = s3.settings;
  sts = await testSts({ role: ROLE, credentials: { accessKeyId, secretAccessKey } });
  proxy.checkTokens(sts.isGood, s3.settings.secret_access_key);
});
beforeEach(() => {
  proxy.clear();
  proxy.asked.length = 0;
  sts.asked.length = 0;
  sts.lastFor(3_600_000);
  setEnvironment(sts.env);
});

/** Nothing of AWS but this stands in the environment, until the next test or the end of the file. */
function setEnvironment(env: Record<string, string>): void {
  vi.unstubAllEnvs();
  for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) vi.stubEnv(name, undefined);
  const nothing = {
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  };
  for (const [name, value] of Object.entries({ ...nothing, ...env })) vi.stubEnv(name, value);
}
afterAll(() => {
  vi.unstubAllEnvs();
});

const assuming = (role: Partial<typeof ROLE> = {}, other: Partial<BucketAccess> = {}, patience = {}) =>
  opened(accessTo(s3, { endpoint: proxy.endpoint, credentials: { ...ROLE, ...role }, ...other }), { patience });

const assumed = () => sts.asked.filter(({ externalId }) => externalId === ROLE.externalId);

it('the role is assumed once, with its external id and the session of an exporter, in the region of the bucket', async () => {
  const bucket = assuming();
  await probeBucket(bucket, 'role');
  await bucket.upload('role/file', stream(20 * MIB));
  const asked = {
    roleArn: 'arn:aws:iam::123456789012:role/millrace-exports',
    sessionName: 'millrace-exporter',
    region: 'us-east-1',
  };
  // The second shows that it is refused without.
  expect(sts.asked).toEqual([
    { ...asked, externalId: ROLE.externalId },
    { ...asked, externalId: null },
  ]);
  expect(proxy.asked.every(({ token }) => sts.isGood(token))).toBe(true);
});

it('credentials that expire in the middle of an upload are renewed, and the file is whole', async () => {
  async function* slow() {
    yield* stream(12 * MIB);
    sts.expire();
    yield* stream(30 * MIB);
  }
  const bucket = assuming();
  await bucket.upload('role/renewed', slow());
  expect(
    (await s3.get('role/renewed')).equals(
      await whole(
        (async function* both() {
          yield* stream(12 * MIB);
          yield* stream(30 * MIB);
        })(),
      ),
    ),
  ).toBe(true);
  expect(assumed()).toHaveLength(2);
});

it('credentials that are about to end are renewed before', async () => {
  sts.lastFor(2_000);
  const bucket = assuming();
  await bucket.head('x');
  await bucket.head('x');
  expect(assumed()).toHaveLength(1);
  await waitFor('new credentials', async () => {
    await bucket.head('x');
    return assumed().length === 2;
  });
});

it('credentials that stay expired are trouble that may pass', async () => {
  proxy.meet({ operation: 'PutObject' }, s3Error(400, 'ExpiredToken', 'The provided token has expired.'), 99);
  const bucket = assuming({}, {}, { retryMs: 500 });
  const { status, extra } = await refusal(bucket.put('x', Buffer.from('x'), 'text/plain'));
  expect([status, extra['source_code']]).toEqual(['source_unavailable', 'ExpiredToken']);
  const keys = opened(accessTo(s3, { endpoint: proxy.endpoint }));
  expect((await refusal(keys.put('x', Buffer.from('x'), 'text/plain'))).status).toBe('source_refused');
});

it('a wrong external id, role or account is refused, with what to check', async () => {
  for (const wrong of [{ externalId: 'another' }, { roleName: 'another' }, { accountId: '210987654321' }]) {
    const role = { ...ROLE, ...wrong };
    const { status, message, extra } = await refusal(assuming(wrong).readAll('x'));
    expect([status, extra['source_code']]).toEqual(['source_refused', 'AccessDenied']);
    expect(message).toContain('not authorized to perform: sts:AssumeRole');
    expect(message).toContain(`arn:aws:iam::${role.accountId}:role/${role.roleName} cannot be assumed`);
    expect(message).toContain(`its condition on sts:ExternalId is ${role.externalId}`);
  }
  expect(proxy.asked).toEqual([]);
});

it('a role that asks for no external id is refused, since any entity could name it', async () => {
  sts.askForId(false);
  const { status, message, extra } = await refusal(assuming().readAll('x'));
  sts.askForId(true);
  expect([status, extra['source_code']]).toEqual(['source_refused', 'NoExternalId']);
  expect(message).toContain(`needs the condition that sts:ExternalId is ${ROLE.externalId}`);
  expect(proxy.asked).toEqual([]);
});

it('the role of a region in another partition is named by that partition', async () => {
  for (const [region, partition] of [
    ['cn-north-1', 'aws-cn'],
    ['us-gov-west-1', 'aws-us-gov'],
  ] as const) {
    await refusal(assuming({}, { region }).readAll('x'));
    expect(sts.asked.at(-1)).toMatchObject({
      roleArn: `arn:${partition}:iam::123456789012:role/millrace-exports`,
      region,
    });
  }
});

it('trouble of STS passes', async () => {
  sts.fail(500, 'InternalFailure', 4);
  expect(await assuming().readAll('x')).toBeNull();
  sts.fail(503, 'ServiceUnavailable', 1_000);
  const { status } = await refusal(assuming({}, {}, { retryMs: 200 }).readAll('x'));
  expect(status).toBe('source_unavailable');
  sts.fail(500, 'InternalFailure', 0);
});

it('a server without credentials, or with bad ones, tells what its operator has to set', async () => {
  setEnvironment({ AWS_ENDPOINT_URL_STS: sts.env['AWS_ENDPOINT_URL_STS']! });
  const none = await refusal(assuming().readAll('x'));
  expect(none.status).toBe('source_refused');
  expect(none.message).toContain('this server has no AWS credentials');
  expect(none.message).toContain('AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  setEnvironment({ ...sts.env, AWS_ACCESS_KEY_ID: 'AKIAUNKNOWN' });
  expect((await refusal(assuming().readAll('x'))).message).toContain('the AWS credentials of this server do not work');
});

it('nothing else of the environment counts: neither addresses, regions nor credentials', async () => {
  const keys = opened(accessTo(s3, { endpoint: proxy.endpoint }));
  proxy.checkTokens((token) => token === undefined);
  setEnvironment({
    AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
    AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:9',
    AWS_REGION: 'xx-nowhere-1',
    AWS_ACCESS_KEY_ID: 'x',
    AWS_SECRET_ACCESS_KEY: 'x',
    AWS_SESSION_TOKEN: 'x',
    AWS_USE_FIPS_ENDPOINT: 'true',
    AWS_USE_DUALSTACK_ENDPOINT: 'true',
    AWS_MAX_ATTEMPTS: '7',
    AWS_RETRY_MODE: 'adaptive',
    HTTP_PROXY: 'http://127.0.0.1:9',
    AWS_S3_US_EAST_1_REGIONAL_ENDPOINT: 'legacy',
  });
  await keys.upload('environment/file', stream(20 * MIB));
  expect((await keys.head('environment/file'))?.bytes).toBe(20 * MIB);
  proxy.checkTokens(sts.isGood, s3.settings.secret_access_key);
});

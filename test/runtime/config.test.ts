import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, test } from 'vitest';
import { readAddress, readConfig } from '../../runtime/config.ts';
import { describeConfig } from '../../runtime/entry.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');
const THIS_FILE = fileURLToPath(import.meta.url);

function problemsOf(env: NodeJS.ProcessEnv): string[] {
  try {
    readConfig(env);
    return [];
  } catch (error) {
    return (error as Error).message.split('\n');
  }
}

test('without any variable the service runs on the loopback with its data beside it', () => {
  expect(readConfig({})).toEqual({
    HOST: '127.0.0.1',
    PORT: 8080,
    TEMPORAL_NAMESPACE: 'millrace',
    MILLRACE_DATA_DIR: resolve('.millrace'),
    MILLRACE_ADMIN_EMAIL: 'admin@millrace.local',
    MILLRACE_PATIENCE_MINUTES: 60,
    MILLRACE_STEP_DEATHS: 3,
    MILLRACE_LEAST_RATE: 64,
    MILLRACE_KEPT_PER_SOR: 50,
    MILLRACE_KEPT_PER_ENTITY: 200,
    MILLRACE_TOKEN_TTL_DAYS: 30,
    MILLRACE_RATE_LIMIT: 600,
    MILLRACE_INGEST_LIMIT: 0,
    OTEL_SERVICE_NAME: 'millrace',
  });
});

test('an empty variable is one that is not set', () => {
  expect(readConfig({ PORT: '', DATABASE_URL: '', MILLRACE_LOG_LEVEL: '' })).toEqual(readConfig({}));
});

test('what is given comes back in the form that the service uses', () => {
  const config = readConfig({
    PORT: '0',
    DATABASE_URL: 'postgres://u:p@db/millrace',
    MILLRACE_SECRET_KEY: KEY,
    MILLRACE_FILES: 'file:///srv/files',
    MILLRACE_RATE_LIMIT: '0',
    TEMPORAL_ADDRESS: 'temporal:7233',
    TEMPORAL_TLS_CERT: THIS_FILE,
    TEMPORAL_TLS_KEY: THIS_FILE,
    MILLRACE_URL: 'http://elsewhere',
    MILLRACE_TOKEN: 't',
    PATH: '/bin',
    UNRELATED: 'x',
  });
  expect(config).toMatchObject({
    PORT: 0,
    MILLRACE_RATE_LIMIT: 0,
    MILLRACE_SECRET_KEY: Buffer.alloc(32, 7),
    MILLRACE_FILES: '/srv/files',
  });
});

test('all that is wrong is told at once, a line for each variable', () => {
  const problems = problemsOf({
    PORT: 'http',
    DATABASE_URL: 'mysql://db',
    TEMPORAL_ADDRESS: 'temporal',
    TEMPORAL_TLS_CERT: '/no/such/file',
    MILLRACE_PUBLIC_URL: 'example.com',
    MILLRACE_TEMPORAL_UI: 'https://temporal.example.com?namespace=millrace',
    MILLRACE_ADMIN_EMAIL: 'me',
    MILLRACE_ADMIN_PASSWORD: 'short',
    MILLRACE_FILES: 's3://Bucket',
    MILLRACE_TOKEN_TTL_DAYS: '0',
    MILLRACE_RATE_LIMIT: '-1',
    MILLRACE_TRUST_PROXY: 'true',
    MILLRACE_LOG_LEVEL: 'loud',
    MILLRACE_DATADIR: 'x',
    MILLRACE_TAPS: '/no/such/file',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317',
    AWS_REGION: 'EU',
    AWS_ENDPOINT_URL_S3: 'minio:9000',
  });
  expect(problems.toSorted()).toEqual([
    'AWS_ENDPOINT_URL_S3 is an http or https address, such as https://minio.example.com',
    'AWS_REGION is the name of a region, such as eu-central-1',
    'DATABASE_URL is postgres://user:password@host:port/database',
    'MILLRACE_ADMIN_EMAIL is an e-mail address',
    'MILLRACE_ADMIN_PASSWORD has at least 8 characters',
    'MILLRACE_DATADIR is not known: did you mean MILLRACE_DATA_DIR?',
    'MILLRACE_FILES is file:<folder>, or s3://<bucket> or s3://<bucket>/<prefix>',
    'MILLRACE_LOG_LEVEL is debug, info, warn or error',
    'MILLRACE_PUBLIC_URL is an http or https address, such as https://millrace.example.com',
    'MILLRACE_RATE_LIMIT is a number of requests a minute; 0 turns it off',
    'MILLRACE_SECRET_KEY is required with DATABASE_URL: openssl rand -base64 32, and keep it',
    'MILLRACE_TAPS names no file that can be read',
    'MILLRACE_TEMPORAL_UI has no user, ? and #, such as https://temporal.example.com',
    'MILLRACE_TOKEN_TTL_DAYS is at least 1',
    'MILLRACE_TRUST_PROXY is addresses or networks, separated by commas, such as 10.0.0.0/8 or loopback',
    'OTEL_EXPORTER_OTLP_ENDPOINT is an http or https address, such as http://127.0.0.1:4318',
    'PORT is a port',
    'TEMPORAL_ADDRESS is host:port',
    'TEMPORAL_TLS_CERT and TEMPORAL_TLS_KEY go together',
    'TEMPORAL_TLS_CERT names no file that can be read',
  ]);
});

test.each(['9464', ':9464', '127.0.0.1', '::1:9464', '127.0.0.1:0', '127.0.0.1:65536', 'http://127.0.0.1:9464'])(
  'metrics have no address %s',
  (address) => {
    expect(problemsOf({ MILLRACE_METRICS_ADDRESS: address })).toEqual([
      expect.stringMatching(/^MILLRACE_METRICS_ADDRESS (?:is|has) /),
    ]);
  },
);

test('metrics have an address and a token of their own, which is not printed', () => {
  const token = 'zqmetrics-0123456789';
  for (const MILLRACE_METRICS_ADDRESS of ['127.0.0.1:9464', '[::1]:9464', 'localhost:1', '0.0.0.0:65535']) {
    const config = readConfig({ MILLRACE_METRICS_ADDRESS, MILLRACE_METRICS_TOKEN: token });
    expect(describeConfig(config)).toEqual(
      expect.arrayContaining([`MILLRACE_METRICS_ADDRESS=${MILLRACE_METRICS_ADDRESS}`, 'MILLRACE_METRICS_TOKEN=(set)']),
    );
  }
  expect(readAddress('[::1]:9464')).toEqual({ host: '::1', port: 9464 });
  for (const wrong of ['short', 'with a blank in its midst']) {
    expect(problemsOf({ MILLRACE_METRICS_TOKEN: wrong })).toEqual([
      expect.stringMatching(/^MILLRACE_METRICS_TOKEN has 16 to 256 /),
    ]);
  }
});

test.each(['65536', '80.5', '1e3', '0x50', ' 80', '-1'])('PORT=%s is no port', (PORT) => {
  expect(problemsOf({ PORT })).toEqual([expect.stringMatching(/^PORT is /)]);
});

const WRONG_KEYS = ['', 'c2hvcnQ=', Buffer.alloc(33).toString('base64'), `${KEY}\n`, 'x'.repeat(44)];

test.each(WRONG_KEYS)("a database of one's own needs a key of 32 bytes, not %j", (key) => {
  expect(problemsOf({ DATABASE_URL: 'postgres://db/x', MILLRACE_SECRET_KEY: key }).join()).toMatch(
    /^MILLRACE_SECRET_KEY is /,
  );
});

test.each([
  ['s3://bucket', 's3://bucket'],
  ['s3://my.bucket-1/', 's3://my.bucket-1'],
  ['s3://bucket/a/b_c', 's3://bucket/a/b_c'],
  ['s3://bucket/a/', 's3://bucket/a'],
])('files may lie in %s', (MILLRACE_FILES, place) => {
  expect(readConfig({ MILLRACE_FILES })).toMatchObject({ MILLRACE_FILES: place });
});

test.each([
  's3:bucket',
  's3://',
  's3://b',
  's3://user:secret@bucket',
  's3://bucket//a',
  's3://bucket/../a',
  's3://bucket/a b',
  'file:',
  '/srv',
])('files may not lie in %s', (MILLRACE_FILES) => {
  expect(problemsOf({ MILLRACE_FILES })).toEqual([expect.stringMatching(/^MILLRACE_FILES is file:<folder>, or/)]);
});

test.each(['loopback', '10.0.0.0/8', '10.1.2.3, ::1', 'fd00::/8,uniquelocal'])(
  'proxies may be %s',
  (MILLRACE_TRUST_PROXY) => {
    expect(readConfig({ MILLRACE_TRUST_PROXY })).toMatchObject({ MILLRACE_TRUST_PROXY });
  },
);

test.each(['1', 'proxy.example.com', '10.0.0.0/33', '10.0.0.0/8/8', '10.0.0.1,'])(
  'proxies may not be %s',
  (MILLRACE_TRUST_PROXY) => {
    expect(problemsOf({ MILLRACE_TRUST_PROXY })).toHaveLength(1);
  },
);

describe('secrets', () => {
  const secret = 'Pl4nted5ecret';
  const env = {
    DATABASE_URL: `postgres://user:${secret}@db.example.com:5432/millrace?application_name=x&password=${secret}&sslpassword=${secret}`,
    MILLRACE_SECRET_KEY: KEY,
    MILLRACE_ADMIN_PASSWORD: secret,
    MILLRACE_TOKEN: secret,
    MILLRACE_EXPORT_KEY: secret,
    TEMPORAL_API_KEY: secret,
    MILLRACE_PUBLIC_URL: `https://user:${secret}@example.com`,
  };

  it('are not printed with the configuration', () => {
    const lines = describeConfig(readConfig(env));
    expect(lines).toContain(
      'DATABASE_URL=postgres://user:***@db.example.com:5432/millrace?application_name=x&password=***&sslpassword=***',
    );
    expect(lines).toEqual(expect.arrayContaining(['MILLRACE_SECRET_KEY=(set)', 'MILLRACE_TOKEN_TTL_DAYS=30']));
    expect(lines.join('\n')).not.toContain(secret);
    expect(lines.join('\n')).not.toContain(KEY);
  });

  it('are not printed where an @ in a password was left as it is', () => {
    const lines = describeConfig(readConfig({ ...env, DATABASE_URL: `postgres://user:first@${secret}@db/x` }));
    expect(lines.join('\n')).not.toContain(secret);
  });

  it('are not quoted by what is said to be wrong', () => {
    const wrong = Object.fromEntries(Object.keys(readConfig({})).map((name) => [name, `${secret}\0`]));
    const problems = problemsOf({
      ...wrong,
      DATABASE_URL: secret,
      MILLRACE_SECRET_KEY: secret,
      MILLRACE_PASWORD: secret,
    });
    expect(problems.length).toBeGreaterThan(6);
    expect(problems.join('\n')).not.toContain(secret);
  });
});

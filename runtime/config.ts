/** Configuration from the environment: checks and reads all variables. */
import { accessSync, constants } from 'node:fs';
import { isIP } from 'node:net';
import { resolve } from 'node:path';
import { closest } from 'fastest-levenshtein';
import { z } from 'zod';
import { readCommandsFile } from '../connectors/commands/commands-file.ts';
import { readFetchAllow } from '../connectors/core/fetch-allow.ts';
import { smtpUrlError } from '../connectors/smtp/mail-url.ts';
import { readPushServices } from '../connectors/web-push/push-services.ts';
import { SERVER_SIDE_ENCRYPTIONS } from '../domain/core/server-side-encryption.ts';
import { MAX_STEP_DEATHS } from '../domain/jobs/step-attempts.ts';
import { CannotStart } from './cannot-start.ts';

const httpUrl = z.url({
  protocol: /^https?$/,
  error: 'is an http or https address, such as https://millrace.example.com',
});

const temporalUi = z
  .url({
    protocol: /^https?$/,
    error: 'is an http or https address, such as https://temporal.example.com',
    abort: true,
  })
  .refine((text) => /^[^?#@]*$/.test(text), 'has no user, ? and #, such as https://temporal.example.com');

const otlpUrl = z.url({ protocol: /^https?$/, error: 'is an http or https address, such as http://127.0.0.1:4318' });

const s3Url = z.url({ protocol: /^https?$/, error: 'is an http or https address, such as https://minio.example.com' });

const databaseUrl = z.url({ protocol: /^postgres(ql)?$/, error: 'is postgres://user:password@host:port/database' });

const count = (what: string, least: number, most: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `is ${what}`)
    .transform(Number)
    .pipe(z.number().min(least, `is at least ${least}`).max(most, `is at most ${most}`));

const metricsAddress = z
  .string()
  .regex(/^(?:\[[\da-fA-F:.]+\]|[^\s/:[\]]+):\d{1,5}$/, { error: 'is host:port, such as 127.0.0.1:9464', abort: true })
  .refine((text) => readAddress(text).port >= 1 && readAddress(text).port <= 65_535, 'has a port from 1 to 65535');

const metricsToken = z
  .string()
  .regex(/^[!-~]{16,256}$/, 'has 16 to 256 printable ASCII characters and no blank: openssl rand -hex 32');

const secretKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{43}=$/, 'is base64 of 32 bytes: openssl rand -base64 32')
  .transform((text) => Buffer.from(text, 'base64'));

const S3_PLACE = /^s3:\/\/[a-z\d][a-z\d.-]{1,61}[a-z\d](?!.*\.\.)(\/[A-Za-z\d._-]+)*$/;

const files = z
  .string()
  .transform((text) => (text.startsWith('s3:') ? text.replace(/\/$/, '') : text))
  .refine(
    (text) => /^file:./.test(text) || S3_PLACE.test(text),
    'is file:<folder>, or s3://<bucket> or s3://<bucket>/<prefix>',
  )
  .transform((text) => (text.startsWith('file:') ? resolve(text.slice('file:'.length)) : text));

const pemFile = z.string().refine(isReadable, 'names no file that can be read');

const proxies = z
  .string()
  .refine(
    (text) => text.split(',').every((part) => isNetwork(part.trim())),
    'is addresses or networks, separated by commas, such as 10.0.0.0/8 or loopback',
  );

const smtpUrl = z.string().superRefine((text, ctx) => {
  const error = smtpUrlError(text);
  if (error !== undefined) ctx.addIssue({ code: 'custom', message: error });
});

const fetchAllow = z.string().superRefine((text, ctx) => {
  const read = readFetchAllow(text);
  if (typeof read === 'string') ctx.addIssue({ code: 'custom', message: read });
});

const pushServices = z.string().superRefine((text, ctx) => {
  const read = readPushServices(text);
  if (typeof read === 'string') ctx.addIssue({ code: 'custom', message: read });
});

const taps = z
  .string()
  .transform((path) => resolve(path))
  .superRefine((path, ctx) => {
    const read = readCommandsFile(path);
    if (typeof read === 'string') ctx.addIssue({ code: 'custom', message: read });
  });

/** All configuration. An empty variable counts as not set. */
const SCHEMA = z
  .object({
    HOST: z.string().default('127.0.0.1'),
    PORT: count('a port', 0, 65_535).default(8080),
    DATABASE_URL: databaseUrl.optional(),
    TEMPORAL_ADDRESS: z
      .string()
      .regex(/^[^\s/]+:\d+$/, 'is host:port')
      .optional(),
    TEMPORAL_NAMESPACE: z.string().default('millrace'),
    TEMPORAL_API_KEY: z.string().optional(),
    TEMPORAL_TLS_CERT: pemFile.optional(),
    TEMPORAL_TLS_KEY: pemFile.optional(),
    TEMPORAL_TLS_CA: pemFile.optional(),
    MILLRACE_TEMPORAL_UI: temporalUi.optional(),
    MILLRACE_DATA_DIR: z
      .string()
      .default('.millrace')
      .transform((path) => resolve(path)),
    MILLRACE_PUBLIC_URL: httpUrl.optional(),
    MILLRACE_ADMIN_EMAIL: z.email('is an e-mail address').default('admin@millrace.local'),
    MILLRACE_ADMIN_PASSWORD: z.string().min(8, 'has at least 8 characters').optional(),
    MILLRACE_SECRET_KEY: secretKey.optional(),
    MILLRACE_NEW_SECRET_KEY: secretKey.optional(),
    MILLRACE_FILES: files.optional(),
    MILLRACE_FILES_ENCRYPTION: z.enum(SERVER_SIDE_ENCRYPTIONS, `is ${SERVER_SIDE_ENCRYPTIONS.join(' or ')}`).optional(),
    MILLRACE_FILES_KMS_KEY: z
      .string()
      .regex(/^[!-~]{1,2048}$/, 'is the id or ARN of a key')
      .optional(),
    // The SDK reads it; checked here, so that a wrong value is reported at the start.
    AWS_REGION: z
      .string()
      .regex(/^[a-z\d-]{1,64}$/, 'is the name of a region, such as eu-central-1')
      .optional(),
    AWS_ENDPOINT_URL_S3: s3Url.optional(),
    AWS_ENDPOINT_URL: s3Url.optional(),
    MILLRACE_FETCH_ALLOW: fetchAllow.optional(),
    MILLRACE_PUSH_SERVICES: pushServices.optional(),
    MILLRACE_TAPS: taps.optional(),
    SMTP_URL: smtpUrl.optional(),
    MILLRACE_MAIL_FROM: z.email('is an e-mail address').optional(),
    MILLRACE_TOKEN_TTL_DAYS: count('a number of days', 1, 3_650).default(30),
    MILLRACE_RATE_LIMIT: count('a number of requests a minute; 0 turns it off', 0, 10_000_000).default(600),
    MILLRACE_INGEST_LIMIT: count('a number of requests a minute; 0 turns it off', 0, 10_000_000).default(0),
    MILLRACE_PATIENCE_MINUTES: count('a number of minutes', 1, 10_080).default(60),
    MILLRACE_LEAST_RATE: count('a number of KiB a minute', 1, 1_000_000).default(64),
    MILLRACE_KEPT_PER_SOR: count('a number of GiB', 1, 1_000_000).default(50),
    MILLRACE_KEPT_PER_ENTITY: count('a number of GiB', 1, 1_000_000).default(200),
    MILLRACE_STEP_DEATHS: count('a number of deaths', 1, 1_000).default(MAX_STEP_DEATHS),
    MILLRACE_TRUST_PROXY: proxies.optional(),
    MILLRACE_METRICS_ADDRESS: metricsAddress.optional(),
    MILLRACE_METRICS_TOKEN: metricsToken.optional(),
    MILLRACE_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error'], 'is debug, info, warn or error').optional(),
    MILLRACE_LOG_FORMAT: z.enum(['json', 'text'], 'is json or text').optional(),
    OTEL_EXPORTER_OTLP_ENDPOINT: otlpUrl.optional(),
    OTEL_SERVICE_NAME: z.string().default('millrace'),
    // The command line reads it; known here, so that a shell may set both.
    MILLRACE_URL: z.string().optional(),
    MILLRACE_TOKEN: z.string().optional(),
    MILLRACE_EXPORT_KEY: z.string().optional(),
  })
  .refine((given) => !given.DATABASE_URL || given.MILLRACE_SECRET_KEY, {
    path: ['MILLRACE_SECRET_KEY'],
    when: () => true,
    error: 'is required with DATABASE_URL: openssl rand -base64 32, and keep it',
  })
  .refine((given) => !given.MILLRACE_NEW_SECRET_KEY || given.MILLRACE_SECRET_KEY, {
    path: ['MILLRACE_NEW_SECRET_KEY'],
    when: () => true,
    error:
      'goes with MILLRACE_SECRET_KEY; where the data folder keeps the key, npm run keys -- rotate --wrapping draws the new one',
  })
  .refine((given) => !given.MILLRACE_FILES_KMS_KEY || given.MILLRACE_FILES_ENCRYPTION === 'aws:kms', {
    path: ['MILLRACE_FILES_KMS_KEY'],
    when: () => true,
    error: 'goes with MILLRACE_FILES_ENCRYPTION=aws:kms',
  })
  .refine((given) => Boolean(given.TEMPORAL_TLS_CERT) === Boolean(given.TEMPORAL_TLS_KEY), {
    path: ['TEMPORAL_TLS_CERT'],
    when: () => true,
    error: 'and TEMPORAL_TLS_KEY go together',
  });

export type Config = z.output<typeof SCHEMA>;

const KNOWN = Object.keys(SCHEMA.shape);

/** All faults of the environment, one line a variable. */
export class ConfigError extends CannotStart {
  override readonly name = 'ConfigError';
}

/** Reads the configuration, or throws all faults at once. Messages never quote values. */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const given = Object.fromEntries(KNOWN.flatMap((name) => (env[name] ? [[name, env[name]]] : [])));
  const unknown = Object.keys(env)
    .filter((name) => name.startsWith('MILLRACE_') && !KNOWN.includes(name))
    .toSorted();
  const problems = unknown.map((name) => `${name} is not known: did you mean ${closest(name, KNOWN)}?`);
  const parsed = SCHEMA.safeParse(given);
  if (!parsed.success) problems.push(...parsed.error.issues.map(({ path, message }) => `${path.join('.')} ${message}`));
  if (!parsed.success || problems.length > 0) throw new ConfigError(problems.join('\n'));
  return parsed.data;
}

/** Splits `host:port`; an IPv6 address is in brackets. */
export function readAddress(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[|\]$/g, ''), port: Number(text.slice(colon + 1)) };
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** Accepts an address, a network in CIDR notation, or a name that Fastify's `trustProxy` knows. */
function isNetwork(text: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true;
  const [address = '', bits = '0', ...rest] = text.split('/');
  const version = isIP(address);
  return version !== 0 && rest.length === 0 && /^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
}

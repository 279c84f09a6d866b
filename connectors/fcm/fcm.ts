/** Firebase Cloud Messaging: its key file, access tokens, the provider, and the outcomes of its answers. */
import { SignJWT } from 'jose';
import { createPrivateKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { sourceUrlError } from '../../domain/core/source-url.ts';
import {
  FCM_MAX_BYTES,
  fcmBytes,
  fcmMessage,
  type PushMessage,
  type PushOutcome,
  type PushTarget,
  secretsOf,
} from '../../domain/sends/push.ts';
import { shorten } from '../../domain/text/text-limits.ts';
import { KeptToken, usedUntil } from '../core/access-token.ts';
import { systemLookup } from '../core/address-guard.ts';
import { harmless, secret, refineBy } from '../core/contract.ts';
import { FETCH_LIMITS, guardedRequest, type HttpAnswer } from '../core/guarded-request.ts';
import { redacted } from '../core/redacted.ts';
import {
  type OpenPushProvider,
  PUSH_LIMITS,
  type PushContext,
  type PushFinding,
  pushProvider,
  type PushRoute,
} from '../push/contract.ts';
import { endpointSetting } from '../push/endpoint-setting.ts';
import { failedBefore, Http2Client } from '../push/http2-client.ts';
import type { PostResult } from '../push/http2-session.ts';
import { ProviderPause, retryAfterMs } from '../push/provider-pause.ts';

const member = (name: string) =>
  z.string({ error: `${name} is missing in the key file` }).min(1, `${name} is empty in the key file`);

/** The key file of a service account; further members are allowed. */
const KeyFile = z.looseObject(
  {
    type: z.literal('service_account', {
      error:
        'type must be service_account: send the key file of a service account, from the Firebase ' +
        'console (Project settings, Service accounts, Generate new private key)',
    }),
    project_id: member('project_id'),
    private_key_id: z.string().optional(),
    private_key: member('private_key').superRefine(refineBy('private_key', privateKeyError)),
    client_email: member('client_email'),
    token_uri: z
      .string()
      .superRefine(refineBy('token_uri', tokenUriError))
      .default('https://oauth2.googleapis.com/token'),
  },
  { error: 'service_account must be the key file of a service account: its JSON, as an object or as text' },
);
export type ServiceAccount = z.output<typeof KeyFile>;

/** The setting `service_account`: the file's JSON as text, or the object. */
const serviceAccount = z.preprocess((value, ctx) => {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    ctx.issues.push({
      code: 'custom',
      message: 'service_account must be the JSON of the key file, whole and unchanged',
      input: value,
    });
    return z.NEVER;
  }
}, KeyFile);

function privateKeyError(pem: string): string | undefined {
  return readKey(pem) === null
    ? 'cannot be read as an RSA private key in PEM: send the key file as it was downloaded'
    : undefined;
}

/** Returns the error of an address: requests to it carry a login for the project. */
function tokenUriError(text: string): string | undefined {
  return sourceUrlError(text) ?? (text.startsWith('https://') ? undefined : 'must be an https:// address');
}

function readKey(pem: string): KeyObject | null {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === 'rsa' ? key : null;
  } catch {
    return null;
  }
}

function privateKeyOf({ private_key: pem }: ServiceAccount): KeyObject {
  return readKey(pem)!;
}

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging';
const ASSERTION_SECONDS = 3_600;
const MAX_ANSWER_BYTES = 64 * 1024;
const CODE = /^[a-z_]{1,64}$/;
const MAX_WORDS = 500;

type TokenResult = { token: string } | { failed: PushOutcome };

class TokenFailure extends Error {
  override readonly name = 'TokenFailure';
  readonly outcome: PushOutcome;
  constructor(outcome: PushOutcome) {
    super(outcome.kind);
    this.outcome = outcome;
  }
}

/**
 * The access token of a service account (RFC 7523). Signed with jose, not fetched by google-auth-library: a user sets
 * `token_uri`, and that library's requests can't use the guard of addresses.
 */
export class AccessToken {
  readonly #account: ServiceAccount;
  readonly #context: Pick<PushContext, 'allow' | 'lookup' | 'now' | 'limits'>;
  readonly #token: KeptToken<void>;

  constructor(account: ServiceAccount, context: Pick<PushContext, 'allow' | 'lookup' | 'now' | 'limits'>) {
    this.#account = account;
    this.#context = context;
    const isFinal = (error: unknown) => error instanceof TokenFailure && error.outcome.kind === 'refused';
    this.#token = new KeptToken(() => this.#fetch(), isFinal, context.now);
  }

  async find(): Promise<TokenResult> {
    try {
      return { token: await this.#token.find() };
    } catch (error) {
      if (error instanceof TokenFailure) return { failed: error.outcome };
      throw error;
    }
  }

  /** Drops a token that Google no longer accepts. */
  drop(token: string): void {
    this.#token.drop(token);
  }

  async #fetch(): Promise<{ token: string; until: number }> {
    const { allow, lookup = systemLookup, now, limits } = this.#context;
    // Covers the time from the request to the end of its answer.
    const signal = AbortSignal.timeout({ ...PUSH_LIMITS, ...limits }.answerMs);
    const url = new URL(this.#account.token_uri);
    const body = new URLSearchParams({
      grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
      assertion: await this.#assertion(),
    });
    const began = now();
    try {
      const answer = await guardedRequest(
        url,
        {
          method: 'POST',
          path: `${url.pathname}${url.search}`,
          body: body.toString(),
          signal,
          headers: { 'content-type': 'application/x-www-form-urlencoded', 'user-agent': 'Millrace' },
        },
        { allow, lookup, limits: FETCH_LIMITS },
      );
      return this.#read(answer, await textOf(answer), began);
    } catch (error) {
      if (error instanceof TokenFailure) throw error;
      if (!signal.aborted) throw new TokenFailure(failedBefore(url, error));
      throw new TokenFailure({ kind: 'not_sent', reason: `${url.host} gave no access token in time` });
    }
  }

  async #assertion(): Promise<string> {
    const { client_email: email, private_key_id: kid, token_uri: audience } = this.#account;
    const seconds = Math.floor(this.#context.now() / 1_000);
    return new SignJWT({ scope: SCOPE })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(kid === undefined ? {} : { kid }) })
      .setIssuer(email)
      .setAudience(audience)
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + ASSERTION_SECONDS)
      .sign(privateKeyOf(this.#account));
  }

  #read({ status, headers }: HttpAnswer, text: string, began: number): { token: string; until: number } {
    const { host } = new URL(this.#account.token_uri);
    const { access_token: token, expires_in: seconds, error, error_description: words } = parsed(text);
    if (status === 200 && typeof token === 'string' && typeof seconds === 'number') {
      return { token, until: usedUntil(began, seconds) };
    }
    if (status === 429 || status >= 500) {
      throw new TokenFailure({
        kind: 'throttled',
        retryAfterMs: retryAfterMs(headers['retry-after'], 10_000),
        scope: 'provider',
      });
    }
    const code = typeof error === 'string' && CODE.test(error) ? error : `HTTP_${status}`;
    const reason = `${host} gives no access token: ${typeof words === 'string' ? shorten(words, MAX_WORDS) : code}`;
    throw new TokenFailure({ kind: 'refused', code, reason });
  }
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

async function textOf({ body }: HttpAnswer): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const FcmSettings = z.object({
  service_account: secret(serviceAccount).describe(
    'The key file of a service account with the role Firebase Cloud Messaging API Admin',
  ),
  project_id: harmless(
    z
      .string({ error: 'project_id must be a text' })
      .regex(/^[a-z\d][a-z\d.:-]{1,99}$/, 'project_id must be the id of a Firebase project, such as shop-1234'),
  )
    .optional()
    .describe('The Firebase project; by default that of the service account'),
  endpoint: endpointSetting,
});
type FcmSettings = z.output<typeof FcmSettings>;

const GOOGLE = 'https://fcm.googleapis.com';

/** Sends through Firebase Cloud Messaging, HTTP v1 (reference: projects.messages.send). */
export const fcm = pushProvider({
  name: 'fcm',
  title: 'Firebase Cloud Messaging',
  platforms: ['android', 'ios', 'web'],
  settings: FcmSettings,
  open: (settings, context) => new OpenFcm(settings, context),
});

class OpenFcm implements OpenPushProvider {
  readonly #client: Http2Client;
  readonly #accessToken: AccessToken;
  readonly #path: string;
  readonly #project: string;
  readonly #context: PushContext;
  readonly #pause: ProviderPause;
  readonly #secrets: string[];
  readonly #route: PushRoute = { key: 'fcm', streams: () => this.#client.streams() };

  constructor(settings: FcmSettings, context: PushContext) {
    const { service_account: account, project_id: project = account.project_id, endpoint = GOOGLE } = settings;
    this.#client = new Http2Client(new URL(endpoint), context);
    this.#accessToken = new AccessToken(account, context);
    this.#project = project;
    this.#path = `/v1/projects/${encodeURIComponent(project)}/messages:send`;
    this.#context = context;
    this.#pause = new ProviderPause(context.now);
    this.#secrets = [account.private_key];
  }

  async send(target: PushTarget, message: PushMessage): Promise<PushOutcome> {
    if (target.token === undefined) {
      return {
        kind: 'refused',
        code: 'SUBSCRIPTION',
        reason: 'FCM takes tokens: for subscriptions of browsers the provider is web_push',
      };
    }
    const built = fcmMessage(message, target.platform, target.token, this.#context.now());
    const bytes = fcmBytes(built);
    if (bytes > FCM_MAX_BYTES) return { kind: 'too_big', bytes, maxBytes: FCM_MAX_BYTES };
    const result = await this.#post(JSON.stringify({ message: built }));
    if ('outcome' in result) return this.#redact(result.outcome, target);
    return this.#redact(this.#pause.heed(result.kind === 'answer' ? fcmOutcome(result) : result), target);
  }

  routeOf(): PushRoute {
    return this.#route;
  }

  /** Asks FCM to validate a message to a topic: it needs the same permission, and reaches no device. */
  async check(): Promise<PushFinding[]> {
    const message = { topic: 'millrace-check', data: { millrace: 'check' } };
    const result = await this.#post(JSON.stringify({ validate_only: true, message }));
    if ('outcome' in result) return [sayTokenFailure(this.#redact(result.outcome))];
    if (result.kind !== 'answer') return [{ severity: 'error', field: 'endpoint', message: result.reason }];
    if (result.status === 200) return [];
    const { code, message: words } = readFailure(result);
    const said = redacted(`Google says ${code}: ${words}`, this.#secrets);
    if (code === 'NOT_FOUND')
      return [{ severity: 'error', field: 'project_id', message: `names no project that FCM knows (${said})` }];
    if (result.status === 401 || result.status === 403) {
      return [
        {
          severity: 'error',
          field: 'service_account',
          message:
            `may not send in project ${this.#project}: give the service account the role ` +
            `Firebase Cloud Messaging API Admin, and enable the Firebase Cloud Messaging API (${said})`,
        },
      ];
    }
    return [{ severity: 'error', field: 'provider', message: said }];
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  /** Sends again with a new access token: Google has not acted on a request that it refused. */
  async #post(body: string): Promise<PostResult | { outcome: PushOutcome }> {
    for (let isLast = false; ; isLast = true) {
      const held = this.#pause.outcome();
      if (held) return { outcome: held };
      const found = await this.#accessToken.find();
      if ('failed' in found) return { outcome: this.#pause.heed(found.failed) };
      const headers = {
        authorization: `Bearer ${found.token}`,
        'content-type': 'application/json',
        'user-agent': 'Millrace',
      };
      const result = await this.#client.post({ path: this.#path, headers, body });
      if (isLast || result.kind !== 'answer' || result.status !== 401 || readFailure(result).code !== 'UNAUTHENTICATED')
        return result;
      this.#accessToken.drop(found.token);
    }
  }

  #redact(outcome: PushOutcome, target?: PushTarget): PushOutcome {
    if (!('reason' in outcome)) return outcome;
    return { ...outcome, reason: redacted(outcome.reason, [...this.#secrets, ...(target ? secretsOf(target) : [])]) };
  }
}

function sayTokenFailure(outcome: PushOutcome): PushFinding {
  switch (outcome.kind) {
    case 'refused':
      return {
        severity: 'error',
        field: 'service_account',
        message:
          `is not taken by Google (${outcome.code}): ${outcome.reason}. Make a new key ` +
          'for the service account, and send its file',
      };
    case 'not_sent':
      return { severity: 'error', field: 'service_account', message: `gets no access token: ${outcome.reason}` };
    default:
      return {
        severity: 'warning',
        field: 'provider',
        message: 'asks to be left alone for now: check again in a minute',
      };
  }
}

type Answer = Extract<PostResult, { kind: 'answer' }>;

/** Google's error model, with FCM's details (FCM HTTP v1: ErrorCode). */
const ErrorBody = z.object({
  error: z.object({
    message: z.string().catch(''),
    status: z.string().catch(''),
    details: z.array(z.looseObject({ '@type': z.string().catch('') })).catch([]),
  }),
});
const Violations = z.object({ fieldViolations: z.array(z.object({ field: z.string() })) });
const QuotaFailure = z.object({
  violations: z.array(z.object({ subject: z.string().catch(''), description: z.string().catch('') })),
});

/** Only such codes are shown: a user's endpoint may answer anything. */
const FCM_CODE = /^[A-Z][A-Z\d_]{1,63}$/;

type FcmFailure = { code: string; message: string; details: Record<string, unknown>[] };

/** Returns FCM's own code if there is one, else Google's. */
function readFailure({ status, body }: Answer): FcmFailure {
  try {
    const { error } = ErrorBody.parse(JSON.parse(body));
    const own = error.details.find((detail) => detail['@type'].endsWith('google.firebase.fcm.v1.FcmError'))?.[
      'errorCode'
    ];
    const code =
      [own, error.status].find((each) => typeof each === 'string' && FCM_CODE.test(each)) ?? `HTTP_${status}`;
    return { code: code as string, message: shorten(error.message, MAX_WORDS), details: error.details };
  } catch {
    return { code: `HTTP_${status}`, message: 'without a word of its own', details: [] };
  }
}

function fcmOutcome(answer: Answer): PushOutcome {
  if (answer.status === 200) return { kind: 'sent', providerId: nameOf(answer.body) };
  const failure = readFailure(answer);
  const { code, message } = failure;
  const wait = (otherwise: number) => retryAfterMs(answer.headers['retry-after'], otherwise);
  switch (code) {
    case 'UNREGISTERED':
      return { kind: 'gone', since: null };
    case 'INVALID_ARGUMENT':
      return invalidArgument(failure);
    case 'QUOTA_EXCEEDED':
    case 'RESOURCE_EXHAUSTED':
      // A minute without a header (Firebase: Best practices when sending at scale).
      return { kind: 'throttled', retryAfterMs: wait(60_000), scope: isOfDevice(failure) ? 'device' : 'provider' };
    case 'UNAVAILABLE':
      return { kind: 'throttled', retryAfterMs: wait(10_000), scope: 'provider' };
    case 'INTERNAL':
      return {
        kind: 'throttled',
        retryAfterMs: wait(10_000),
        scope: answer.headers['retry-after'] === undefined ? 'device' : 'provider',
      };
  }
  if (answer.status === 413) return { kind: 'too_big', bytes: null, maxBytes: FCM_MAX_BYTES };
  if (answer.status === 429 || answer.status === 503)
    return { kind: 'throttled', retryAfterMs: wait(60_000), scope: 'provider' };
  // A server before FCM answered, which may have passed the message on.
  if (answer.status >= 500) return { kind: 'unknown', reason: `FCM answered ${answer.status} ${message}` };
  return { kind: 'refused', code, reason: message };
}

/** A token that FCM can't read belongs to no device of any project. */
function invalidArgument({ code, message, details }: FcmFailure): PushOutcome {
  const fields = details
    .flatMap((detail) => Violations.safeParse(detail).data?.fieldViolations ?? [])
    .map(({ field }) => field);
  if (fields.includes('message.token') || /registration token is not a valid/i.test(message))
    return { kind: 'gone', since: null };
  if (/\btoo big\b/i.test(message)) return { kind: 'too_big', bytes: null, maxBytes: FCM_MAX_BYTES };
  return { kind: 'refused', code, reason: message };
}

/** Returns whether a quota is a device's own, which says nothing about others. */
function isOfDevice({ message, details }: FcmFailure): boolean {
  const violations = details.flatMap((detail) => QuotaFailure.safeParse(detail).data?.violations ?? []);
  return [message, ...violations.flatMap(({ subject, description }) => [subject, description])].some((words) =>
    /\bdevice\b/i.test(words),
  );
}

/** Returns `projects/<id>/messages/<message id>`. */
function nameOf(body: string): string | null {
  const [, name] = /"name":\s*"([^"\\]{1,256})"/.exec(body) ?? [];
  return name ?? null;
}

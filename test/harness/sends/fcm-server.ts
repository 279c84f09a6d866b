import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { jwtVerify } from 'jose';
import { onFileEnd } from '../core/clean-up.ts';
import { http2Server, type Http2Server, type Received } from './http2-server.ts';

type FcmSettings = {
  key: string;
  cert: string;
  project?: string;
  /** Without, `sent` stays empty. */
  keepsSent?: boolean;
  /** How many messages each connection takes at once. */
  streams?: number;
};

/** What is sent to a token meets, instead of 200. */
export type FcmFate =
  | 'UNREGISTERED'
  | 'SENDER_ID_MISMATCH'
  | 'QUOTA_EXCEEDED'
  | 'DEVICE_QUOTA'
  | 'UNAVAILABLE'
  | 'INTERNAL'
  | 'THIRD_PARTY_AUTH_ERROR'
  | 'GATEWAY_TIMEOUT';

export type FcmServer = Http2Server & {
  project: string;
  /** A key file of a service account of this project, as Google gives it. */
  serviceAccount: Record<string, string>;
  /** The bodies of messages that were sent. */
  sent: { validate_only?: boolean; message: SentMessage }[];
  fate(token: string, fate: FcmFate | null): void;
  /**
   * Takes messages, and answers once the function that it returns is called; those to one token alone, where one is
   * given.
   */
  holdAnswers(token?: string | null): () => void;
  /** Whether the account may send. */
  permit(isPermitted: boolean): void;
  /** All access tokens that were given so far count no more. */
  expireTokens(): void;
  tokensGiven(): number;
};

type SentMessage = {
  token?: string;
  topic?: string;
  data?: Record<string, unknown>;
  notification?: Record<string, string>;
  android?: { ttl?: string };
};

const TOKEN = /^[\w-]{11,}:[\w-]{20,}$/;
const MAX_BYTES = 4_096;
const RESERVED = /^(?:from|message_type|collapse_key|google\..*|gcm\..*)$/;
const MEMBERS: Record<string, readonly string[]> = {
  message: ['name', 'data', 'notification', 'android', 'webpush', 'apns', 'fcm_options', 'token', 'topic', 'condition'],
  notification: ['title', 'body', 'image'],
  android: [
    'collapse_key',
    'priority',
    'ttl',
    'restricted_package_name',
    'data',
    'notification',
    'fcm_options',
    'direct_boot_ok',
  ],
  apns: ['headers', 'payload', 'fcm_options'],
  webpush: ['headers', 'data', 'notification', 'fcm_options'],
};

/** Google's token endpoint and FCM's `messages:send`, which refuse what the real ones refuse, in their words. */
export async function fcmServer({
  key,
  cert,
  project = 'shop-1234',
  keepsSent = true,
  streams = 100,
}: FcmSettings): Promise<FcmServer> {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const tokens = new Set<string>();
  const fates = new Map<string, FcmFate>();
  const sent: FcmServer['sent'] = [];
  let isPermitted = true;
  let held = Promise.resolve();
  let heldToken: string | null = null;
  let given = 0;
  const email = `firebase-adminsdk@${project}.iam.gserviceaccount.com`;

  // Google's is another host, and takes HTTP/1.1.
  const tokenServer = createServer(
    { key, cert },
    (request, response) =>
      void text(request).then(async (body) => {
        const { status, headers, body: answer } = await giveToken(body);
        response.writeHead(status, headers).end(answer);
      }),
  );
  tokenServer.listen(0, '127.0.0.1');
  await once(tokenServer, 'listening');
  const tokenUri = `https://localhost:${(tokenServer.address() as AddressInfo).port}/token`;
  onFileEnd(async () => {
    tokenServer.closeAllConnections();
    await new Promise<void>((resolve) => {
      tokenServer.close(() => resolve());
    });
  });

  const giveToken = async (body: string) => {
    const form = new URLSearchParams(body);
    const error = await assertionError(form.get('assertion') ?? '', publicKey, email, tokenUri);
    if (error !== undefined) return json(400, { error: 'invalid_grant', error_description: error });
    const token = `ya29.${randomBytes(24).toString('base64url')}`;
    tokens.add(token);
    given += 1;
    return json(200, { access_token: token, expires_in: 3599, token_type: 'Bearer' });
  };

  const send = ({ path, headers, body }: Received) => {
    if (!tokens.has(/^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '')) return UNAUTHENTICATED;
    const [, asked] = /^\/v1\/projects\/([^/]+)\/messages:send$/.exec(path) ?? [];
    if (asked === undefined) return failure(404, 'NOT_FOUND', 'Requested entity was not found.');
    if (asked !== project || !isPermitted) {
      return failure(
        403,
        'PERMISSION_DENIED',
        "Permission 'cloudmessaging.messages.create' denied on resource " +
          `'//cloudresourcemanager.googleapis.com/projects/${asked}' (or it may not exist).`,
      );
    }
    const read = JSON.parse(body.toString()) as FcmServer['sent'][number];
    const wrong = messageError(read.message);
    if (wrong) return wrong;
    const { token } = read.message;
    const fate = fates.get(token ?? '');
    if (fate !== undefined) return FATES[fate];
    if (keepsSent) sent.push(read);
    return json(200, { name: `projects/${project}/messages/0:${Date.now()}%${randomBytes(8).toString('hex')}` });
  };

  const server = await http2Server({
    key,
    cert,
    streams,
    async answer(request) {
      const answer = send(request);
      if (heldToken === null || request.body.includes(heldToken)) await held;
      return answer;
    },
  });
  return {
    ...server,
    project,
    sent,
    serviceAccount: {
      type: 'service_account',
      project_id: project,
      private_key_id: randomBytes(20).toString('hex'),
      private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
      client_email: email,
      client_id: '103255743283470328472',
      auth_uri: 'https://accounts.google.com/o/oauth2/auth',
      token_uri: tokenUri,
    },
    fate(token, fate) {
      if (fate === null) fates.delete(token);
      else fates.set(token, fate);
    },
    holdAnswers(token = null) {
      heldToken = token;
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    permit(permitted) {
      isPermitted = permitted;
    },
    expireTokens: () => tokens.clear(),
    tokensGiven: () => given,
  };
}

async function assertionError(
  assertion: string,
  publicKey: KeyObject,
  email: string,
  audience: string,
): Promise<string | undefined> {
  try {
    const { payload } = await jwtVerify(assertion, publicKey, { algorithms: ['RS256'], audience });
    const { iss, iat = 0, exp = 0, scope } = payload as typeof payload & { scope?: string };
    if (iss !== email) return 'Invalid grant: account not found';
    if (exp - iat > 3_600 || Math.abs(Date.now() / 1_000 - iat) > 600) {
      return (
        'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in ' +
        'the JWT claim.'
      );
    }
    if (scope === 'https://www.googleapis.com/auth/firebase.messaging') return undefined;
    return 'Invalid OAuth scope or ID token audience provided.';
  } catch {
    return 'Invalid JWT Signature.';
  }
}

function messageError(message: SentMessage) {
  for (const [name, known] of Object.entries(MEMBERS)) {
    const part = name === 'message' ? message : (message as Record<string, object | undefined>)[name];
    const unknown = Object.keys(part ?? {}).find((member) => !known.includes(member));
    if (unknown !== undefined)
      return invalid(`Invalid JSON payload received. Unknown name "${unknown}" at '${name}': Cannot find field.`);
  }
  const { token, topic, data = {}, notification = {}, android = {} } = message;
  if (token === undefined && topic === undefined) return invalid('Recipient of the message is not set.');
  if (token !== undefined && !TOKEN.test(token)) {
    return invalid('The registration token is not a valid FCM registration token', 'message.token');
  }
  const reserved = Object.keys(data).find((name) => RESERVED.test(name));
  if (reserved !== undefined) return invalid(`Invalid data payload key: ${reserved}`, `message.data[${reserved}]`);
  if (Object.values(data).some((value) => typeof value !== 'string')) {
    return invalid("Invalid value at 'message.data[0].value' (TYPE_STRING)");
  }
  const { ttl = '0s' } = android;
  if (!/^\d+s$/.test(ttl)) return invalid("Illegal duration format; duration must end with 's'", 'message.android.ttl');
  if (parseInt(ttl, 10) > 2_419_200) return invalid('TTL is too long', 'message.android.ttl');
  const bytes = [...Object.entries({ ...data }), ...Object.entries({ ...notification })].reduce(
    (sum, entry) => sum + Buffer.from(entry.join('')).length,
    0,
  );
  return bytes > MAX_BYTES ? invalid('Android message is too big') : undefined;
}

function json(status: number, value: unknown, headers: Record<string, string> = {}) {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=UTF-8', ...headers },
    body: JSON.stringify(value),
  };
}

function failure(
  code: number,
  status: string,
  message: string,
  details: object[] = [],
  headers?: Record<string, string>,
) {
  return json(code, { error: { code, message, status, ...(details.length > 0 ? { details } : {}) } }, headers);
}

const FCM_ERROR = (errorCode: string) => ({
  '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError',
  errorCode,
});

function invalid(message: string, field?: string) {
  const fieldViolations = [{ field, description: message }];
  return failure(400, 'INVALID_ARGUMENT', message, [
    FCM_ERROR('INVALID_ARGUMENT'),
    ...(field === undefined ? [] : [{ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations }]),
  ]);
}

const UNAUTHENTICATED = failure(
  401,
  'UNAUTHENTICATED',
  'Request had invalid authentication credentials. Expected OAuth 2 access token, ' +
    'login cookie or other valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.',
);

const QUOTA_FAILURE = (subject: string, description: string) => ({
  '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
  violations: [{ subject, description }],
});

const FATES: Record<FcmFate, ReturnType<typeof json>> = {
  UNREGISTERED: failure(404, 'NOT_FOUND', 'Requested entity was not found.', [FCM_ERROR('UNREGISTERED')]),
  SENDER_ID_MISMATCH: failure(403, 'PERMISSION_DENIED', 'SenderId mismatch', [FCM_ERROR('SENDER_ID_MISMATCH')]),
  QUOTA_EXCEEDED: failure(
    429,
    'RESOURCE_EXHAUSTED',
    "Quota exceeded for quota metric 'Messages sent'.",
    [FCM_ERROR('QUOTA_EXCEEDED'), QUOTA_FAILURE('project', 'Message rate exceeded')],
    { 'retry-after': '7' },
  ),
  DEVICE_QUOTA: failure(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded.', [
    FCM_ERROR('QUOTA_EXCEEDED'),
    QUOTA_FAILURE('token', 'Device message rate exceeded'),
  ]),
  UNAVAILABLE: failure(503, 'UNAVAILABLE', 'The service is currently unavailable.', [FCM_ERROR('UNAVAILABLE')], {
    'retry-after': '30',
  }),
  INTERNAL: failure(500, 'INTERNAL', 'Internal error encountered.', [FCM_ERROR('INTERNAL')]),
  THIRD_PARTY_AUTH_ERROR: failure(401, 'UNAUTHENTICATED', 'Auth error from APNS or Web Push Service', [
    FCM_ERROR('THIRD_PARTY_AUTH_ERROR'),
  ]),
  GATEWAY_TIMEOUT: { status: 504, headers: { 'content-type': 'text/html' }, body: '<html>504</html>' },
};

import { createPublicKey, X509Certificate } from 'node:crypto';
import { decodeProtectedHeader, jwtVerify } from 'jose';
import { http2Server, type Http2Server, type Received } from './http2-server.ts';

/** Apple's reasons with their statuses (Apple: Handling notification responses from APNs). */
const STATUSES = {
  BadCollapseId: 400,
  BadDeviceToken: 400,
  BadExpirationDate: 400,
  BadMessageId: 400,
  BadPriority: 400,
  BadTopic: 400,
  DeviceTokenNotForTopic: 400,
  IdleTimeout: 400,
  InvalidPushType: 400,
  MissingTopic: 400,
  PayloadEmpty: 400,
  TopicDisallowed: 400,
  BadCertificate: 403,
  BadCertificateEnvironment: 403,
  ExpiredProviderToken: 403,
  InvalidProviderToken: 403,
  MissingProviderToken: 403,
  BadPath: 404,
  ExpiredToken: 410,
  Unregistered: 410,
  PayloadTooLarge: 413,
  TooManyProviderTokenUpdates: 429,
  TooManyRequests: 429,
  InternalServerError: 500,
  ServiceUnavailable: 503,
  Shutdown: 503,
} as const;
export type ApnsReason = keyof typeof STATUSES;

type ApnsSettings = {
  key: string;
  cert: string;
  /** Certificates that Apple gave out: PEM, with the topics that each is for. */
  certificates?: { pem: string; topic: string }[];
  /** Keys of teams: the .p8 file, and the topics that the team has. */
  keys?: { pem: string; keyId: string; teamId: string; topics: string[] }[];
  now?: () => number;
};

export type ApnsServer = Http2Server & {
  sent: { token: string; headers: Record<string, unknown>; payload: Record<string, unknown> }[];
  /** What is sent to the token meets this, with the time of a 410. */
  fate(token: string, reason: ApnsReason | null, timestamp?: number): void;
  /** How many provider tokens were shown. */
  providerTokens(): number;
};

const MAX_BYTES = 4_096;
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i;

/** APNs over HTTP/2, by the certificate of an app or the key of a team, which refuses what the real one refuses. */
export async function apnsServer({
  key,
  cert,
  certificates = [],
  keys = [],
  now = Date.now,
}: ApnsSettings): Promise<ApnsServer> {
  const fates = new Map<string, { reason: ApnsReason; timestamp?: number | undefined }>();
  const sent: ApnsServer['sent'] = [];
  const shown = new Map<string, { token: string; since: number }>();
  let providerTokens = 0;

  const tokenError = async (bearer: string, topic: string): Promise<ApnsReason | undefined> => {
    const token = /^bearer (\S+)$/i.exec(bearer)?.[1] ?? '';
    try {
      const { kid, alg } = decodeProtectedHeader(token);
      const known = keys.find(({ keyId }) => keyId === kid);
      if (!known || alg !== 'ES256') return 'InvalidProviderToken';
      const {
        payload: { iss, iat = 0 },
      } = await jwtVerify(token, createPublicKey(known.pem));
      if (iss !== known.teamId) return 'InvalidProviderToken';
      const age = now() / 1_000 - iat;
      if (age > 3_600 || age < -300) return 'ExpiredProviderToken';
      const last = shown.get(known.keyId);
      if (last?.token !== token) {
        if (last && now() - last.since < 20 * 60_000) return 'TooManyProviderTokenUpdates';
        shown.set(known.keyId, { token, since: now() });
        providerTokens += 1;
      }
      return known.topics.includes(topic) ? undefined : 'TopicDisallowed';
    } catch {
      return 'InvalidProviderToken';
    }
  };

  const credentialsError = async ({ headers, certificate }: Received): Promise<ApnsReason | undefined> => {
    const topic = String(headers['apns-topic'] ?? '');
    if (certificate) {
      const known = certificates.find(({ pem }) => new X509Certificate(pem).raw.equals(certificate.raw));
      if (!known || Date.parse(certificate.valid_to) < now()) return 'BadCertificate';
      return topic === known.topic || topic.startsWith(`${known.topic}.`) ? undefined : 'TopicDisallowed';
    }
    if (headers.authorization === undefined) return 'MissingProviderToken';
    return topic === '' ? 'MissingTopic' : tokenError(headers.authorization, topic);
  };

  const server = await http2Server({
    key,
    cert,
    requestCert: true,
    async answer(request) {
      const { path, headers, body } = request;
      const [, token = ''] = /^\/3\/device\/(.*)$/.exec(path) ?? [];
      const reason = (await credentialsError(request)) ?? requestError(path, headers, body);
      const id = String(headers['apns-id'] ?? 'B0A0C0DE-0000-4000-8000-000000000000');
      if (reason) return refusal(id, reason);
      const fate = fates.get(token);
      if (fate) return refusal(id, fate.reason, fate.timestamp);
      if (!/^[\da-f]{64}$/.test(token) || /^0+$/.test(token)) return refusal(id, 'BadDeviceToken');
      sent.push({ token, headers, payload: JSON.parse(body.toString()) as Record<string, unknown> });
      return { status: 200, headers: { 'apns-id': id } };
    },
  });
  return {
    ...server,
    sent,
    fate(token, reason, timestamp) {
      if (reason === null) fates.delete(token);
      else fates.set(token, { reason, timestamp });
    },
    providerTokens: () => providerTokens,
  };
}

function requestError(path: string, headers: Received['headers'], body: Buffer): ApnsReason | undefined {
  const id = headers['apns-id'];
  if (!path.startsWith('/3/device/')) return 'BadPath';
  if (id !== undefined && !UUID.test(String(id))) return 'BadMessageId';
  if (!['alert', 'background'].includes(String(headers['apns-push-type']))) return 'InvalidPushType';
  if (!['10', '5', '1'].includes(String(headers['apns-priority'] ?? '10'))) return 'BadPriority';
  if (!/^\d+$/.test(String(headers['apns-expiration'] ?? '0'))) return 'BadExpirationDate';
  if (Buffer.byteLength(String(headers['apns-collapse-id'] ?? '')) > 64) return 'BadCollapseId';
  if (body.length === 0) return 'PayloadEmpty';
  return body.length > MAX_BYTES ? 'PayloadTooLarge' : undefined;
}

function refusal(id: string, reason: ApnsReason, timestamp?: number) {
  const status = STATUSES[reason];
  return {
    status,
    headers: { 'apns-id': id, 'content-type': 'application/json' },
    body: JSON.stringify(status === 410 ? { reason, timestamp: timestamp ?? Date.now() } : { reason }),
  };
}

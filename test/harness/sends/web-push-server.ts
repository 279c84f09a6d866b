import {
  createDecipheriv,
  createECDH,
  createHmac,
  createPublicKey,
  type ECDH,
  hkdfSync,
  randomBytes,
} from 'node:crypto';
import { jwtVerify } from 'jose';
import type { WebPushSubscription } from '../../../domain/sends/push.ts';
import { http2Server, type Http2Server, type Received } from './http2-server.ts';

export type WebPushFate = { status: number; headers?: Record<string, string>; body?: string };

export type WebPushServer = Http2Server & {
  /** A browser that takes messages: at another origin, where one is given. */
  subscribe(name: string, origin?: string): WebPushSubscription;
  /** What the browsers got, decrypted. */
  got: { name: string; headers: Received['headers']; message: Record<string, unknown> }[];
  fate(name: string, fate: WebPushFate | null): void;
  /** Answers nothing until what it returns is called. */
  hold(): () => void;
  /** What was wrong with refused requests. */
  refused: string[];
};

type Browser = { curve: ECDH; auth: Buffer };

const MAX_BYTES = 4_096;

/**
 * A push service (RFC 8030) for messages of one application server, whose key (RFC 8292) every subscription is bound
 * to, together with the browsers, which decrypt what they get (RFC 8291).
 */
export async function webPushServer({
  key,
  cert,
  vapidPublicKey,
  http1Only = false,
}: {
  key: string;
  cert: string;
  vapidPublicKey: string;
  http1Only?: boolean;
}): Promise<WebPushServer> {
  const browsers = new Map<string, Browser>();
  const fates = new Map<string, WebPushFate>();
  const got: WebPushServer['got'] = [];
  const refused: string[] = [];
  let held = Promise.resolve();
  const server = await http2Server({
    key,
    cert,
    http1Only,
    async answer(request) {
      await held;
      const name = /^\/push\/([\w-]+)(?:\?|$)/.exec(request.path)?.[1] ?? '';
      const fate = fates.get(name);
      if (fate) return fate;
      const browser = browsers.get(name);
      if (!browser) return { status: 404 };
      const error = (await vapidError(request, server.origin, vapidPublicKey)) ?? headerError(request);
      if (error) {
        refused.push(error[1]);
        const [status, message] = error;
        return {
          status,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ code: status, message }),
        };
      }
      if (request.body.length > MAX_BYTES) return { status: 413 };
      const { headers } = request;
      got.push({
        name,
        headers,
        message: JSON.parse(decrypt(request.body, browser).toString()) as Record<string, unknown>,
      });
      const location = `${server.origin}/message/${randomBytes(8).toString('hex')}`;
      return { status: 201, headers: { location, ttl: String(headers['ttl']) } };
    },
  });
  return {
    ...server,
    got,
    refused,
    subscribe(name, origin = server.origin) {
      const browser = browsers.get(name) ?? { curve: createECDH('prime256v1'), auth: randomBytes(16) };
      if (!browsers.has(name)) browser.curve.generateKeys();
      browsers.set(name, browser);
      return {
        endpoint: `${origin}/push/${name}`,
        p256dh: browser.curve.getPublicKey().toString('base64url'),
        auth: browser.auth.toString('base64url'),
      };
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return resolve;
    },
    fate(name, fate) {
      if (fate === null) fates.delete(name);
      else fates.set(name, fate);
    },
  };
}

/**
 * RFC 8292: `vapid t=<JWT>, k=<key>`, for this origin, for a day at most, by the key that the subscription was made
 * with.
 */
async function vapidError(
  { headers }: Received,
  origin: string,
  vapidPublicKey: string,
): Promise<[number, string] | undefined> {
  const { t = '', k = '' } = /^vapid t=(?<t>[^,\s]+), ?k=(?<k>\S+)$/.exec(headers.authorization ?? '')?.groups ?? {};
  if (t === '') return [401, 'no VAPID authorization'];
  if (k !== vapidPublicKey) {
    return [
      403,
      'the VAPID credentials in the authorization header do not correspond to the credentials used to create the ' +
        'subscriptions.',
    ];
  }
  const point = Buffer.from(k, 'base64url');
  const jwk = {
    kty: 'EC',
    crv: 'P-256',
    x: point.subarray(1, 33).toString('base64url'),
    y: point.subarray(33).toString('base64url'),
  };
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    const {
      payload: { exp = 0, sub = '' },
    } = await jwtVerify(t, key, { audience: origin, algorithms: ['ES256'] });
    if (exp > Date.now() / 1_000 + 86_400) return [403, 'the token counts for more than a day'];
    return /^(?:mailto:|https:)/.test(sub) ? undefined : [403, 'no subject'];
  } catch {
    return [403, 'the token is not valid'];
  }
}

function headerError({ headers }: Received): [number, string] | undefined {
  if (!/^\d+$/.test(String(headers['ttl'] ?? ''))) return [400, 'no TTL'];
  if (headers['content-encoding'] !== 'aes128gcm') return [415, 'no aes128gcm'];
  if (!['very-low', 'low', 'normal', 'high'].includes(String(headers['urgency'] ?? 'normal')))
    return [400, 'unknown urgency'];
  const topic = headers['topic'];
  return topic === undefined || /^[\w-]{1,32}$/.test(String(topic))
    ? undefined
    : [400, 'topic is no base64url of at most 32 characters'];
}

/** RFC 8188 (one record) under the keys of RFC 8291, 3.4. */
function decrypt(body: Buffer, { curve, auth }: Browser): Buffer {
  const salt = body.subarray(0, 16);
  const recordSize = body.readUInt32BE(16);
  const keyLength = body[20]!;
  const theirs = body.subarray(21, 21 + keyLength);
  const record = body.subarray(21 + keyLength);
  if (record.length > recordSize) throw new Error('more than one record');
  const secret = curve.computeSecret(theirs);
  const prk = createHmac('sha256', auth).update(secret).digest();
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), curve.getPublicKey(), theirs, Buffer.from([1])]);
  const ikm = createHmac('sha256', prk).update(info).digest();
  const derived = (name: string, bytes: number) =>
    Buffer.from(hkdfSync('sha256', ikm, salt, Buffer.from(`Content-Encoding: ${name}\0`), bytes));
  const decipher = createDecipheriv('aes-128-gcm', derived('aes128gcm', 16), derived('nonce', 12));
  decipher.setAuthTag(record.subarray(-16));
  const plain = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  const delimiter = plain.lastIndexOf(2);
  return plain.subarray(0, delimiter);
}

/** An HTTP/2 client for push providers: a few connections to one origin. */

import { isIP } from 'node:net';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { addressGuard, type Lookup, systemLookup } from '../core/address-guard.ts';
import type { FetchAllow } from '../core/fetch-allow.ts';
import { refusalOfFailure, sourceRefusal } from '../core/source-refusal.ts';
import { PUSH_LIMITS, type PushContext, type PushLimits } from './contract.ts';
import { Http2Session, type Post, type PostResult } from './http2-session.ts';

export type PushClient = {
  /** Sends a request; waits while the other side takes no more at once. */
  post(post: Post): Promise<PostResult>;
  /** Returns how many requests the open connections take at once. */
  streams(): number;
  /** Waits for requests under way, and closes. */
  close(): Promise<void>;
};

type Network = Pick<PushContext, 'allow' | 'lookup' | 'limits'>;
type Waiting = { start(session: Http2Session): void; fail(error: unknown): void };

/** The reason for a missing connection: the other side chose another protocol. */
const NO_HTTP2 = 'no_http2';

/** Pause after a further connection that failed. */
const NEXT_CONNECTION_MS = 1_000;

/** Sends requests to one https:// origin over a few connections, each with as many at once as the other side takes. */
export class Http2Client implements PushClient {
  readonly #origin: URL;
  readonly #network: Network;
  readonly #certificate: ClientCertificate | undefined;
  readonly #limits: PushLimits;
  readonly #waiting: Waiting[] = [];
  #sessions: Http2Session[] = [];
  #isOpening = false;
  #isClosed = false;
  #openNoneUntil = 0;

  constructor(origin: URL, network: Network, certificate?: ClientCertificate) {
    this.#origin = origin;
    this.#network = network;
    this.#certificate = certificate;
    this.#limits = { ...PUSH_LIMITS, ...network.limits };
  }

  async post(post: Post): Promise<PostResult> {
    // Planned while the process began to stop, or settings changed: nothing was sent, and it is tried again.
    if (this.#isClosed) return { kind: 'not_sent', reason: 'Millrace closed its connections before it was sent' };
    const session = this.#waiting.length === 0 ? this.#findRoom() : undefined;
    if (session) return session.post(post);
    return new Promise((resolve, reject) => {
      // Otherwise a server with few streams, or none, would hold waiting requests as long as it likes.
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        resolve(tookNone(this.#origin));
      }, this.#limits.waitMs);
      const waiting: Waiting = {
        start: (free) => {
          clearTimeout(timer);
          free.post(post).then(resolve, reject);
        },
        fail: (error) => {
          clearTimeout(timer);
          try {
            resolve(failedBefore(this.#origin, error));
          } catch (own) {
            reject(own as Error);
          }
        },
      };
      this.#waiting.push(waiting);
      this.#pump();
    });
  }

  streams(): number {
    return this.#sessions.reduce((sum, { capacity }) => sum + capacity, 0);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#failWaiting(sourceRefusal('source_unavailable', 'Millrace is stopping'));
    await Promise.all(this.#sessions.map((session) => session.close()));
  }

  #findRoom(): Http2Session | undefined {
    return this.#sessions.find((session) => session.hasRoom);
  }

  #failWaiting(error: unknown): void {
    for (const each of this.#waiting.splice(0)) each.fail(error);
  }

  #pump(): void {
    while (this.#waiting.length > 0) {
      const session = this.#findRoom();
      if (!session) break;
      this.#waiting.shift()!.start(session);
    }
    if (this.#waiting.length > 0 && !this.#isOpening && !this.#isClosed) this.#openAnother();
  }

  #openAnother(): void {
    this.#sessions = this.#sessions.filter((session) => !session.isGone);
    const standing = this.#sessions.filter((session) => !session.isOver).length;
    const mayOpen = standing === 0 || performance.now() >= this.#openNoneUntil;
    if (mayOpen && standing < this.#limits.connections) void this.#open();
  }

  async #open(): Promise<void> {
    this.#isOpening = true;
    try {
      const { allow, lookup } = this.#network;
      const socket = await pushConnection(this.#origin, {
        allow,
        lookup,
        connectMs: this.#limits.connectMs,
        certificate: this.#certificate,
      });
      if (socket.alpnProtocol !== 'h2') {
        socket.destroy();
        throw sourceRefusal('source_unavailable', `${this.#origin.host} does not speak HTTP/2`, { cause: NO_HTTP2 });
      }
      const session = await Http2Session.over(socket, this.#origin, this.#limits, () => this.#pump());
      // Closed meanwhile: only this ends the session.
      if (this.#isClosed) await session.close();
      else this.#sessions.push(session);
    } catch (error) {
      // Others continue while any connection is open.
      if (this.#sessions.some((session) => !session.isOver))
        this.#openNoneUntil = performance.now() + NEXT_CONNECTION_MS;
      else this.#failWaiting(error);
    } finally {
      this.#isOpening = false;
      this.#pump();
    }
  }
}

/** Returns the outcome of a request that waited too long to leave. */
export function tookNone(origin: URL): Extract<PostResult, { kind: 'not_sent' }> {
  return { kind: 'not_sent', reason: `${origin.host} took no further request in time` };
}

/**
 * Returns the outcome of a failure before a request was written. Throws errors that are not the network's, which are
 * internal.
 */
export function failedBefore(origin: URL, error: unknown): Exclude<PostResult, { kind: 'answer' }> {
  const { status, message, extra } = refusalOfFailure(origin.host, error);
  if (status === 'address_refused') return { kind: 'refused', code: 'ADDRESS_REFUSED', reason: message };
  return { kind: 'not_sent', reason: message, ...(extra.cause === NO_HTTP2 ? { isNoHttp2: true } : {}) };
}

/** A client's certificate, if the other side asks for one. */
type ClientCertificate = Pick<ConnectionOptions, 'cert' | 'key'>;

type Way = {
  allow: FetchAllow;
  lookup?: Lookup | undefined;
  connectMs: number;
  certificate?: ClientCertificate | undefined;
};

/** Returns port and host of an https:// origin. */
function hostAndPort(origin: URL): { host: string; port: number } {
  return { host: origin.hostname.replace(/^\[|\]$/g, ''), port: Number(origin.port) || 443 };
}

/**
 * Opens a TLS connection through the guard of addresses; it speaks HTTP/2 if its `alpnProtocol` is h2. Sends only the
 * handshake before the guard has checked the address.
 */
async function pushConnection(
  origin: URL,
  { allow, lookup = systemLookup, connectMs, certificate = {} }: Way,
): Promise<TLSSocket> {
  const { host, port } = hostAndPort(origin);
  const guard = addressGuard({ host, port, shown: origin.host }, allow, lookup);
  if (guard.isRefused) throw guard.refusal();
  const socket = connect({
    host,
    port,
    ...(isIP(host) === 0 ? { servername: host } : {}),
    ALPNProtocols: ['h2', 'http/1.1'],
    ...guard.ways,
    ...certificate,
  });
  const timer = setTimeout(
    () => socket.destroy(sourceRefusal('source_unavailable', `${origin.host} did not take the connection in time`)),
    connectMs,
  );
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve).once('error', reject);
    });
  } finally {
    clearTimeout(timer);
  }
  if (socket.remoteAddress === undefined || guard.mayReach(socket.remoteAddress)) return socket;
  socket.destroy();
  throw guard.refusal();
}

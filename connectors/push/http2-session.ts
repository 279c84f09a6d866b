/** An HTTP/2 connection that reports for each request whether the other side may have acted on it. */

import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  type IncomingHttpHeaders,
} from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { sourceRefusal } from '../core/source-refusal.ts';
import type { PushLimits } from './contract.ts';

/** The outcome of a request, by whether the other side may have acted on it. */
export type PostResult =
  | { kind: 'answer'; status: number; headers: IncomingHttpHeaders; body: string }
  | { kind: 'not_sent'; reason: string; isNoHttp2?: true }
  | { kind: 'refused'; code: string; reason: string }
  | { kind: 'unknown'; reason: string };

export type Post = { path: string; headers: Record<string, string>; body: string | Buffer };

/** Maximum size of an answer that is read; providers' answers have a few hundred bytes. */
const MAX_ANSWER_CHARS = 64 * 1024;
const SWEEP_MS = 500;

type UnderWay = { deadline: number; timedOut: boolean };

/**
 * An HTTP/2 connection over node:http2. Other clients repeat requests by themselves, or don't distinguish a request
 * that was refused unread (REFUSED_STREAM, or behind the last stream of a GOAWAY: RFC 9113, 8.7) from a broken one, and
 * so hide whether a push may have been sent.
 */
export class Http2Session {
  readonly #session: ClientHttp2Session;
  readonly #host: string;
  readonly #limits: PushLimits;
  readonly #onChange: () => void;
  /** Requests under way, in order of their start. */
  readonly #underWay = new Map<ClientHttp2Stream, UnderWay>();
  readonly #sweeping: NodeJS.Timeout;
  #capacity = 0;
  #isEnding = false;
  #lastStreamId = Number.POSITIVE_INFINITY;
  #reason = 'broke off the connection';
  #idleSince = performance.now();

  /** `onChange`: called when it may take more, or has ended. */
  private constructor(session: ClientHttp2Session, host: string, limits: PushLimits, onChange: () => void) {
    this.#session = session;
    this.#host = host;
    this.#limits = limits;
    this.#onChange = onChange;
    this.#follow();
    this.#sweeping = setInterval(() => this.#sweep(), Math.min(SWEEP_MS, limits.answerMs, limits.idleMs));
    this.#sweeping.unref();
  }

  /** Waits for the other side's settings, which say how many requests it takes at once. Throws without HTTP/2. */
  static async over(socket: TLSSocket, origin: URL, limits: PushLimits, onChange: () => void): Promise<Http2Session> {
    const session = connect(origin, { createConnection: () => socket, settings: { enablePush: false } });
    const opened = new Http2Session(session, origin.host, limits, onChange);
    const tooSlow = sourceRefusal('source_unavailable', `${origin.host} took no request in time`);
    const timer = setTimeout(() => session.destroy(tooSlow), limits.connectMs);
    try {
      await new Promise<void>((resolve, reject) => {
        // A connection that takes no request would hold those that wait for it.
        session
          .on('remoteSettings', () => {
            if (opened.#capacity > 0) resolve();
          })
          .once('error', reject);
        session.once('close', () => reject(sourceRefusal('source_unavailable', `${origin.host} ${opened.#reason}`)));
      });
    } finally {
      clearTimeout(timer);
    }
    return opened;
  }

  /** True if nothing is under way any more. */
  get isGone(): boolean {
    return this.#session.destroyed;
  }

  get isOver(): boolean {
    return this.#isEnding || this.#session.closed || this.#session.destroyed;
  }

  /** Number of requests that the other side takes at once. */
  get capacity(): number {
    return this.isOver ? 0 : this.#capacity;
  }

  get hasRoom(): boolean {
    return !this.isOver && this.#underWay.size < this.#capacity;
  }

  /** Sends a request at once. Call it only while there is capacity. */
  post({ path, headers, body }: Post): Promise<PostResult> {
    const stream = this.#session.request({ ':method': 'POST', ':path': path, ...headers });
    const state = { deadline: performance.now() + this.#limits.answerMs, timedOut: false };
    this.#underWay.set(stream, state);
    return new Promise((resolve) => {
      let answer: { status: number; headers: IncomingHttpHeaders } | undefined;
      let text = '';
      stream.setEncoding('utf8');
      stream.on('response', (got) => {
        answer = { status: got[':status'] ?? 0, headers: got };
      });
      stream.on('data', (chunk: string) => {
        text += chunk;
        if (text.length > MAX_ANSWER_CHARS) stream.close(constants.NGHTTP2_CANCEL);
      });
      stream.on('error', () => undefined); // its close event gives the reason
      stream.on('close', () => {
        this.#end(stream);
        if (answer) return resolve({ kind: 'answer', ...answer, body: text });
        // Node reports the GOAWAY that ended the session only after this event.
        setImmediate(() => resolve(this.#failureOf(stream, state)));
      });
      stream.end(body);
    });
  }

  /** Takes no more requests, and resolves when those under way have ended. */
  async close(): Promise<void> {
    this.#isEnding = true;
    if (this.#session.destroyed) return;
    const closed = new Promise<void>((resolve) => {
      this.#session.once('close', () => resolve());
    });
    this.#session.close();
    await closed;
  }

  #follow(): void {
    const session = this.#session;
    session.on('remoteSettings', ({ maxConcurrentStreams = Number.POSITIVE_INFINITY }) => {
      this.#capacity = Math.min(maxConcurrentStreams, this.#limits.streams);
      this.#onChange();
    });
    session.on('goaway', (code, lastStreamId, data) => {
      this.#isEnding = true;
      this.#lastStreamId = lastStreamId;
      this.#reason = `ended the connection${sayGoaway(code, data)}`;
      this.#onChange();
    });
    session.on('error', () => undefined);
    session.on('close', () => {
      clearInterval(this.#sweeping);
      this.#onChange();
    });
  }

  #end(stream: ClientHttp2Stream): void {
    this.#underWay.delete(stream);
    if (this.#underWay.size === 0) this.#idleSince = performance.now();
    this.#onChange();
  }

  #failureOf(stream: ClientHttp2Stream, { timedOut }: UnderWay): PostResult {
    const { id = Number.POSITIVE_INFINITY, rstCode } = stream;
    if (timedOut) return { kind: 'unknown', reason: `${this.#host} took the request and did not answer in time` };
    const isUnread = rstCode === constants.NGHTTP2_REFUSED_STREAM || id > this.#lastStreamId;
    if (isUnread)
      return { kind: 'not_sent', reason: `${this.#host} ${this.isOver ? this.#reason : 'did not take the request'}` };
    return {
      kind: 'unknown',
      reason: `${this.#host} ${this.isOver ? this.#reason : 'broke off the request'} before it answered`,
    };
  }

  /** Ends requests that took too long, and this connection with them, since it may be dead. */
  #sweep(): void {
    const now = performance.now();
    if (this.#underWay.size === 0 && now - this.#idleSince > this.#limits.idleMs) return void this.close();
    for (const [stream, state] of this.#underWay) {
      if (state.deadline > now) break;
      state.timedOut = true;
      stream.close(constants.NGHTTP2_CANCEL);
      if (!this.#isEnding) void this.close();
    }
  }
}

/** Returns the reason of a GOAWAY, which APNs gives in JSON (Apple: Communicating with APNs). */
function sayGoaway(code: number, data: Uint8Array | undefined): string {
  const [, reason] = /"reason"\s*:\s*"([A-Za-z]{1,64})"/.exec(Buffer.from(data ?? []).toString('latin1', 0, 256)) ?? [];
  if (reason !== undefined) return ` (${reason})`;
  return code === constants.NGHTTP2_NO_ERROR ? '' : ` (error ${code} of HTTP/2)`;
}

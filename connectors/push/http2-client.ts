import { refusalOfFailure, sourceRefusal } from '../core/source-refusal.ts';
import { type PushContext, PUSH_LIMITS } from './contract.ts';
import { type Post, type PostResult, Http2Session } from './http2-session.ts';
import { type ClientCertificate, pushConnection } from './push-connection.ts';

export type Http2Client = {
  /** Waits while as much is under way as the other side takes. */
  post(post: Post): Promise<PostResult>;
  /** Waits for what is under way. */
  close(): Promise<void>;
};

type Waiting = { start(session: Http2Session): void; fail(error: unknown): void };

/** The other side chose another protocol. */
export const NO_HTTP2 = 'no_http2';

/** After a connection that could not be added to those that stand. */
const NEXT_CONNECTION_MS = 1_000;

/** Requests to one https:// origin over a few connections, each with as many at once as the other side takes. */
export function http2Client(
  origin: URL, context: Pick<PushContext, 'allow' | 'lookup' | 'limits'>, certificate?: ClientCertificate,
): Http2Client {
  const limits = { ...PUSH_LIMITS, ...context.limits };
  let sessions: Http2Session[] = [];
  let isOpening = false;
  let isClosed = false;
  let openNoneUntil = 0;
  const waiting: Waiting[] = [];

  const findRoom = () => sessions.find((session) => session.hasRoom);

  const open = async () => {
    isOpening = true;
    try {
      const socket = await pushConnection(origin, { ...context, connectMs: limits.connectMs, certificate });
      if (socket.alpnProtocol !== 'h2') {
        socket.destroy();
        throw sourceRefusal('source_unavailable', `${origin.host} does not speak HTTP/2`, { cause: NO_HTTP2 });
      }
      sessions.push(await Http2Session.over(socket, origin, limits, pump));
    } catch (error) {
      // Others go on as long as a connection stands.
      if (sessions.some((session) => !session.isOver)) openNoneUntil = performance.now() + NEXT_CONNECTION_MS;
      else for (const each of waiting.splice(0)) each.fail(error);
    } finally {
      isOpening = false;
      pump();
    }
  };

  function pump(): void {
    while (waiting.length > 0) {
      const session = findRoom();
      if (!session) break;
      waiting.shift()!.start(session);
    }
    if (waiting.length > 0 && !isOpening && !isClosed) openAnother();
  }

  function openAnother(): void {
    sessions = sessions.filter((session) => !session.isGone);
    const standing = sessions.filter((session) => !session.isOver).length;
    const mayOpen = standing === 0 || performance.now() >= openNoneUntil;
    if (mayOpen && standing < limits.connections) void open();
  }

  return {
    async post(post) {
      if (isClosed) throw new Error('the provider is closed');
      const session = waiting.length === 0 ? findRoom() : undefined;
      if (session) return session.post(post);
      return new Promise((resolve, reject) => {
        waiting.push({
          start: (free) => { free.post(post).then(resolve, reject); },
          fail: (error) => {
            try {
              resolve(failedBefore(origin, error));
            } catch (own) {
              reject(own as Error);
            }
          },
        });
        pump();
      });
    },
    async close() {
      isClosed = true;
      for (const each of waiting.splice(0)) each.fail(sourceRefusal('source_unavailable', 'Millrace is stopping'));
      await Promise.all(sessions.map((session) => session.close()));
    },
  };
}

/** What failed before a request was written. What isn't a failure of the network is ours, and thrown as it is. */
export function failedBefore(origin: URL, error: unknown): Exclude<PostResult, { kind: 'answer' }> {
  const { status, message, extra } = refusalOfFailure(origin.host, error);
  if (status === 'address_refused') return { kind: 'refused', code: 'ADDRESS_REFUSED', reason: message };
  return { kind: 'not_sent', reason: message, ...extra.cause === NO_HTTP2 ? { isNoHttp2: true } : {} };
}

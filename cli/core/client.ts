import { setTimeout as delay } from 'node:timers/promises';
import { Refusal, refuse, type RefusalExtra } from '../../domain/core/refusal.ts';

/** Where the server is, and who asks. */
export type Server = { url: string; token?: string | undefined };

type Envelope = {
  success: boolean; result?: unknown; error_message?: string; retry_after?: number; messages?: RefusalExtra['messages'];
};
type Request = {
  method: string;
  path: string;
  body?: object | FormData | undefined;
  /** Under it the server does a POST once, however often it is sent. */
  idempotencyKey?: string | undefined;
};

const MAX_TRIES = 3;
const RETRY_MS = 300;
const LONGEST_WAIT_SECONDS = 60;
/** The request did not get through, or its answer did not. */
const CONNECTION_FAULT = 'connection';
/** The server's words. */
const NO_TOKEN = 'Invalid or missing token';

/**
 * Calls the interface and returns `result`; a refusal of the server becomes one of ours with its message.
 * A GET, or a POST with an idempotency key, is tried again a few times when the connection fails.
 */
export async function call<T>(
  server: Server, method: string, path: string, body?: object | FormData, idempotencyKey?: string,
): Promise<T> {
  const request = { method, path, body, idempotencyKey };
  const isRepeatable = method === 'GET' || idempotencyKey !== undefined;
  return withTries(isRepeatable ? MAX_TRIES : 1, async () => {
    const reply = await send(server, request);
    const envelope = await readEnvelope(server, reply);
    if (reply.ok && envelope?.success) return envelope.result as T;
    return refuseReply(server, reply, envelope);
  });
}

/** The body of a GET as it comes; a connection that fails half-way ends it with a refusal. */
export async function download(server: Server, path: string): Promise<AsyncIterable<Uint8Array>> {
  const reply = await withTries(MAX_TRIES, () => send(server, { method: 'GET', path }));
  if (!reply.ok) return refuseReply(server, reply, await readEnvelope(server, reply));
  return wholeBody(server, reply);
}

async function withTries<T>(mostTries: number, attempt: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const waitMs = tries < mostTries && error instanceof Refusal ? waitBeforeNext(error, tries) : null;
      if (waitMs === null) throw error;
      await delay(waitMs);
    }
  }
}

/** Milliseconds; null for a refusal that stays one. The server tells when: too many requests, or the first try goes on there. */
function waitBeforeNext({ status, extra: { retry_after: seconds } }: Refusal, tries: number): number | null {
  if (status === CONNECTION_FAULT) return RETRY_MS * tries;
  return typeof seconds === 'number' && seconds <= LONGEST_WAIT_SECONDS ? seconds * 1_000 : null;
}

async function send(server: Server, { method, path, body, idempotencyKey }: Request): Promise<Response> {
  if (!URL.canParse(path, server.url)) {
    return refuse(400, 'bad_url', 'MILLRACE_URL is no URL: set it to one such as http://127.0.0.1:8080.');
  }
  const isForm = body instanceof FormData;
  const headers: Record<string, string> = { accept: 'application/vnd.svc.v3, application/json' };
  if (server.token) headers.authorization = `Token ${server.token}`;
  if (idempotencyKey !== undefined) headers['idempotency-key'] = idempotencyKey;
  if (body && !isForm) headers['content-type'] = 'application/json';
  return fetch(new URL(path, server.url), {
    method, headers, ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
  }).catch((error: Error) => refuseUnsent(server, error));
}

/** Shows the error's cause only: its own message may hold the token. Without a code it is no fault of the connection. */
function refuseUnsent(server: Server, { cause }: Error): never {
  if (!(cause instanceof Error)) return refuse(400, 'not_sent', 'The request could not be sent: is MILLRACE_TOKEN right?');
  const { code, message } = cause as NodeJS.ErrnoException;
  return refuse(503, code === undefined ? 'not_sent' : CONNECTION_FAULT,
    `${server.url} does not answer (${code ?? message}): is the server running, and MILLRACE_URL right?`);
}

async function readEnvelope(server: Server, reply: Response): Promise<Envelope | null> {
  const text = await reply.text().catch(() => refuseBrokenOff(server));
  try {
    return JSON.parse(text) as Envelope | null;
  } catch {
    return null;          // a proxy's page, say
  }
}

function refuseReply(server: Server, { status }: Response, envelope: Envelope | null): never {
  const said = envelope?.error_message ?? `${server.url} answered ${status}, not as Millrace does: is it something else, or a proxy?`;
  const hint = said === NO_TOKEN ? ': set MILLRACE_TOKEN to what `millrace login` prints, or to a service token' : '';
  return refuse(status, status, said + hint, {
    retry_after: envelope?.retry_after, ...(envelope?.messages ? { messages: envelope.messages } : {}),
  });
}

function refuseBrokenOff(server: Server): never {
  return refuse(503, CONNECTION_FAULT, `The connection to ${server.url} broke off: what came is not complete.`);
}

async function* wholeBody(server: Server, { body }: Response): AsyncGenerator<Uint8Array> {
  try {
    if (body) yield* body;
  } catch {
    refuseBrokenOff(server);
  }
}

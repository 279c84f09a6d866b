import { refuse } from '../domain/refusal.ts';

/** Where the server is, and who asks. */
export type Server = { url: string; token?: string | undefined };

type Envelope = { success: boolean; result?: unknown; error_message?: string };

/** Calls the interface and returns `result`; a refusal of the server becomes one of ours with its message. */
export async function call<T>(server: Server, method: string, path: string, body?: object | FormData): Promise<T> {
  const reply = await send(server, method, path, body);
  const envelope = await reply.json().catch(() => null) as Envelope | null;
  if (reply.ok && envelope?.success) return envelope.result as T;
  return refuse(reply.status, reply.status, envelope?.error_message ?? `${server.url} answered ${reply.status}: is it a Millrace server?`);
}

function send(server: Server, method: string, path: string, body?: object | FormData): Promise<Response> {
  const isForm = body instanceof FormData;
  const headers: Record<string, string> = { accept: 'application/vnd.svc.v3, application/json' };
  if (server.token) headers.authorization = `Token ${server.token}`;
  if (body && !isForm) headers['content-type'] = 'application/json';
  return fetch(new URL(path, server.url), {
    method, headers, ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
  }).catch(() => refuse(503, 'unreachable', `${server.url} does not answer: is the server running, and MILLRACE_URL right?`));
}

import type { Operation } from '../../api/core/operation.ts';
import { type Answer, type Call, paramsOf } from './life-operation.ts';

/** Sends the calls of a walk: as a client does, and keeps what came back as it came. */

export type Sender = { url: string; token: string; appKey: string };

const TIMEOUT_MS = 60_000;

/** Null if there was no answer: the connection failed, or broke off. */
export async function sendCall(
  operation: Operation,
  call: Call,
  sender: Sender,
  idempotencyKey: string,
): Promise<Answer | null> {
  const sentAt = Date.now();
  try {
    const reply = await fetch(addressOf(operation, call, sender.url), {
      method: operation.method,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...bodyOf(operation, call),
      redirect: 'manual',
      headers: { ...headersOf(operation, sender, idempotencyKey), ...contentType(call), ...call.headers },
    });
    const text = await reply.text();
    const headers = Object.fromEntries(reply.headers);
    return { status: reply.status, text, headers, result: resultOf(operation, text), sentAt, answeredAt: Date.now() };
  } catch {
    return null;
  }
}

function addressOf(operation: Operation, call: Call, url: string): URL {
  const params = paramsOf(operation, call);
  const path = operation.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const address = new URL(path, url);
  for (const [name, value] of Object.entries(call.query ?? {})) {
    if (value === undefined) continue;
    if (typeof value === 'object') for (const each of value) address.searchParams.append(`${name}[]`, each);
    else address.searchParams.set(name, String(value));
  }
  return address;
}

function headersOf(
  { auth, method }: Operation,
  { token, appKey }: Sender,
  idempotencyKey: string,
): Record<string, string> {
  const credentials: Record<string, string> =
    auth === 'token'
      ? { authorization: `Token ${token}` }
      : auth === 'app_key'
        ? { authorization: `Basic ${Buffer.from(`${appKey}:`).toString('base64')}` }
        : {};
  return {
    accept: 'application/vnd.svc.v3, application/json',
    ...credentials,
    ...(method === 'POST' && auth !== 'none' ? { 'idempotency-key': idempotencyKey } : {}),
  };
}

const contentType = ({ body, file }: Call): Record<string, string> =>
  body === undefined || file ? {} : { 'content-type': 'application/json' };

function bodyOf({ uploadPart }: Operation, { body, file }: Call): { body?: string | FormData } {
  if (!file) return body === undefined ? {} : { body: JSON.stringify(body) };
  const form = new FormData();
  for (const [name, value] of Object.entries(body as Record<string, unknown>)) form.set(name, String(value));
  form.set(uploadPart!, new Blob([file.content]), file.name);
  return { body: form };
}

function resultOf({ bare, contentType: file }: Operation, text: string): unknown {
  if (file !== undefined || text === '') return undefined;
  try {
    const parsed = JSON.parse(text) as { result?: unknown };
    return bare ? parsed : parsed.result;
  } catch {
    return undefined;
  }
}

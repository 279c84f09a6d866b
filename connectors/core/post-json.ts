import type { ConnectorContext } from './contract.ts';
import type { GuardedAnswer } from './guarded-fetch.ts';
import { sourceRefusal } from './source-refusal.ts';

type Post = { body: string; headers?: Record<string, string>; advice: string; onSending?: (() => void) | undefined };

/**
 * Posts JSON, and gives an answer of 2xx, which the caller reads or ends. Follows 307 and 308 to the same scheme, host
 * and port, and refuses any other redirect: what is posted must not go elsewhere.
 */
export async function postForAnswer(
  url: string,
  { body, headers = {}, advice, onSending }: Post,
  { fetch, signal }: ConnectorContext,
): Promise<GuardedAnswer> {
  const answer = await fetch.request(url, {
    method: 'POST',
    body,
    signal,
    headers: { 'Content-Type': 'application/json', ...headers },
    advice,
    onSending,
  });
  // After other redirects the body is asked for no more, and nothing of it has arrived.
  if (answer.method === 'POST') return answer;
  await answer.end();
  throw sourceRefusal(
    'source_refused',
    `${new URL(url).host} redirects what is sent to it: use the address that it redirects to`,
  );
}

/** As `postForAnswer`; what is answered doesn't matter. */
export async function postJson(url: string, post: Post, context: ConnectorContext): Promise<void> {
  await (await postForAnswer(url, post, context)).end();
}

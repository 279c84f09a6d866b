import type { ConnectorContext } from './contract.ts';
import type { GuardedAnswer } from './guarded-fetch.ts';
import { sourceRefusal } from './source-refusal.ts';

type Post = { body: string; headers?: Record<string, string>; advice: string; onSending?: (() => void) | undefined };

/**
 * Posts JSON and returns a 2xx answer, which the caller reads or ends. Follows 307 and 308 to the same scheme, host and
 * port, and refuses any other redirect: the body must not go elsewhere.
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
  // Other redirects drop the body, so none of it has arrived.
  if (answer.method === 'POST') return answer;
  await answer.end();
  throw sourceRefusal(
    'source_refused',
    `${new URL(url).host} redirects what is sent to it: use the address that it redirects to`,
  );
}

/** Posts JSON and ignores the answer's content. */
export async function postJson(url: string, post: Post, context: ConnectorContext): Promise<void> {
  await (await postForAnswer(url, post, context)).end();
}

/** An HTTP/1.1 client for push services without HTTP/2. */

import { Pool } from 'undici';
import { guardedConnector } from '../core/guarded-connector.ts';
import { systemLookup } from '../core/address-guard.ts';
import { type PushContext, PUSH_LIMITS, type PushLimits } from './contract.ts';
import { failedBefore, type PushClient, tookNone } from './http2-client.ts';
import type { Post, PostResult } from './http2-session.ts';

const MAX_ANSWER_CHARS = 64 * 1024;
/** Number of connections; each has one request at a time, so that none waits behind a broken one. */
const CONNECTIONS = 16;

/** Client for push services without HTTP/2. */
export function http1Client(
  origin: URL,
  { allow, lookup = systemLookup, limits: given }: Pick<PushContext, 'allow' | 'lookup' | 'limits'>,
): PushClient {
  const limits = { ...PUSH_LIMITS, ...given };
  const pool = new Pool(origin.origin, {
    connect: guardedConnector(origin, allow, lookup, limits.connectMs),
    connections: CONNECTIONS,
    pipelining: 1,
    headersTimeout: limits.answerMs,
    bodyTimeout: limits.answerMs,
    keepAliveTimeout: limits.idleMs,
    keepAliveMaxTimeout: limits.idleMs,
  });
  return {
    post: (post) => postOver(pool, origin, post, limits),
    streams: () => CONNECTIONS,
    close: () => pool.close(),
  };
}

function postOver(pool: Pool, origin: URL, { path, headers, body }: Post, limits: PushLimits): Promise<PostResult> {
  return new Promise((resolve, reject) => {
    let isStarted = false;
    let timedOut = false;
    let timer: NodeJS.Timeout | undefined;
    let answer: { status: number; headers: Record<string, string | string[] | undefined> } | undefined;
    let text = '';
    let waitedTooLong = false;
    const waiting = setTimeout(() => {
      waitedTooLong = true;
      resolve(tookNone(origin));
    }, limits.waitMs);
    pool.dispatch(
      { method: 'POST', path, headers, body },
      {
        // The connection is open, and the request is about to be written: from here on it may have arrived.
        onRequestStart(controller) {
          if (waitedTooLong) return controller.abort(new Error('the request waited too long'));
          clearTimeout(waiting);
          isStarted = true;
          // The pool's timeouts restart with each byte; this one bounds the whole answer.
          timer = setTimeout(() => {
            timedOut = true;
            controller.abort(new Error('the answer took too long'));
          }, limits.answerMs);
        },
        onResponseStart(_controller, status, got) {
          answer = { status, headers: got };
        },
        onResponseData(controller, chunk) {
          text += chunk.toString('utf8');
          if (text.length > MAX_ANSWER_CHARS) controller.abort(new Error('the answer is too long'));
        },
        onResponseEnd() {
          clearTimeout(timer);
          resolve({ kind: 'answer', ...answer!, body: text });
        },
        onResponseError(_controller, error) {
          clearTimeout(waiting);
          clearTimeout(timer);
          if (answer) return resolve({ kind: 'answer', ...answer, body: text });
          if (timedOut)
            return resolve({ kind: 'unknown', reason: `${origin.host} took the request and did not answer in time` });
          if (isStarted)
            return resolve({ kind: 'unknown', reason: `${origin.host} broke off the connection before it answered` });
          try {
            resolve(failedBefore(origin, error));
          } catch (own) {
            reject(own as Error);
          }
        },
      },
    );
  });
}

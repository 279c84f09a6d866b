/** Notes the requests of a connector: method, path, status and duration, never a query, a header or a body. */
import { Refusal } from '../../domain/core/refusal.ts';
import type { GuardedFetch } from './guarded-fetch.ts';

/** `path`: of the address as it was asked for; `status`: null if no answer came. */
export type NotedRequest = { sentAt: Date; method: string; path: string; status: number | null; milliseconds: number };

export function notedFetch<F extends GuardedFetch>(fetch: F, note: (request: NotedRequest) => void): F {
  return {
    ...fetch,
    async request(url, request = {}) {
      const sentAt = new Date();
      const began = performance.now();
      const { method = 'GET' } = request;
      const noteAs = (status: number | null) => {
        const path = URL.parse(url)?.pathname ?? '';
        note({ sentAt, method, path, status, milliseconds: Math.round(performance.now() - began) });
      };
      try {
        const answer = await fetch.request(url, request);
        noteAs(answer.status);
        return answer;
      } catch (error) {
        const status = error instanceof Refusal ? error.extra['source_status'] : null;
        noteAs(typeof status === 'number' ? status : null);
        throw error;
      }
    },
  };
}

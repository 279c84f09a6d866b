import { http1Client } from '../push/http1-client.ts';
import { Http2Client, type PushClient } from '../push/http2-client.ts';
import type { Post, PostResult } from '../push/http2-session.ts';
import type { PushContext } from '../push/contract.ts';

/** Devices choose them, so only so many idle ones are kept. */
const MAX_IDLE = 32;

type Origin = { client: PushClient; isHttp1: boolean; underWay: number };

/** The push services that endpoints lead to: HTTP/2 where they speak it, else HTTP/1.1. */
export class Origins {
  readonly #context: PushContext;
  /** Those used last at the end. */
  readonly #origins = new Map<string, Origin>();

  constructor(context: PushContext) {
    this.#context = context;
  }

  async post(url: URL, post: Post): Promise<PostResult> {
    const origin = this.#use(url);
    origin.underWay += 1;
    try {
      const result = await origin.client.post(post);
      if (result.kind !== 'not_sent' || result.isNoHttp2 !== true) return result;
      if (!origin.isHttp1) Object.assign(origin, { client: http1Client(url, this.#context), isHttp1: true });
      return await origin.client.post(post);
    } finally {
      origin.underWay -= 1;
      this.#closeIdle();
    }
  }

  /** How many requests an origin takes at once over the connections that stand. */
  streams(origin: string): number {
    return this.#origins.get(origin)?.client.streams() ?? 0;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#origins.values()].map(({ client }) => client.close()));
  }

  #use(url: URL): Origin {
    const found = this.#origins.get(url.origin) ?? {
      client: new Http2Client(new URL(url.origin), this.#context),
      isHttp1: false,
      underWay: 0,
    };
    this.#origins.delete(url.origin);
    this.#origins.set(url.origin, found);
    return found;
  }

  #closeIdle(): void {
    if (this.#origins.size <= MAX_IDLE) return;
    for (const [name, { client, underWay }] of this.#origins) {
      if (underWay > 0) continue;
      this.#origins.delete(name);
      void client.close();
      if (this.#origins.size <= MAX_IDLE) return;
    }
  }
}

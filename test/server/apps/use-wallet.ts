import { beforeEach, expect } from 'vitest';
import type { App } from '../../../store/apps/apps.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import type { World } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
type Body = Record<string, unknown>;

/** A data wallet for each test: that of `of.app`, which a test may exchange, as its owner asks it. */
export function useWallet() {
  const served = useServer();
  const of = {} as { app: App; owner: World };
  let apps = 0;
  beforeEach(async () => {
    of.owner = served.world;
    of.app = await insertSampleApp(served.store.db, served.world.entity.id, `com.example.wallet${(apps += 1)}`);
  });
  const call = (method: Method, path: string, body?: Body) => {
    const url = `/api/apps/${of.app.identifier}/data_wallet/${path}`;
    return served.server.call(method, url, { token: of.owner.token, ...(body ? { body } : {}) });
  };
  /** What a good call answers. */
  const result = async (method: Method, path: string, body?: Body) => {
    const answer = await call(method, path, body);
    expect([answer.status, answer.body]).toMatchObject([200, { success: true }]);
    return answer.body.result;
  };
  /** How a call is refused: HTTP status, the body's own, message. */
  const refusal = async (method: Method, path: string, body?: Body) => {
    const { status, body: answer } = await call(method, path, body);
    return [status, answer.status, answer.error_message];
  };
  return { ...served, of, call, result, refusal };
}

export function namesOf(list: { technical_name: string }[]): string[] {
  return list.map(({ technical_name }) => technical_name);
}

/** An element of a recipient. */
export const basket = { technical_name: 'basket', display_name: 'Basket', data_category: { technical_name: 'usage' } };

import { expect, it } from 'vitest';
import {
  KeptToken,
  refuseRotation,
  requestToken,
  sendWithToken,
  usedUntil,
} from '../../../connectors/core/access-token.ts';
import { readFetchAllow } from '../../../connectors/core/fetch-allow.ts';
import { type GuardedAnswer, guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import { errorJson } from '../../../connectors/core/json-requests.ts';
import type { Refusal } from '../../../domain/core/refusal.ts';
import { httpSource } from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';

const SECRET = 'zqclientsecret';
rememberSecret(SECRET);
const allow = readFetchAllow('127.0.0.1');
if (typeof allow === 'string') throw new Error(allow);
const context = { fetch: guardedFetch(allow), signal: new AbortController().signal };
const source = await httpSource();

/** An API whose tokens are good for so many calls, and that says so as HubSpot does. */
function api(name: string, good: number) {
  let granted = 0;
  const calls = new Map<string, number>();
  const token = source.serve(`/${name}/token`, (_, response) => {
    granted += 1;
    const body = { access_token: `${name}-${granted}`, expires_in: 1_800, refresh_token: 'r1' };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  const data = source.serve(`/${name}/data`, (request, response) => {
    const sent = request.headers.authorization ?? '';
    const used = (calls.get(sent) ?? 0) + 1;
    calls.set(sent, used);
    response.setHeader('content-type', 'application/json');
    if (used > good) response.statusCode = 401;
    response.end(JSON.stringify(used > good ? { category: 'EXPIRED_AUTHENTICATION' } : { ok: true }));
  });
  const grant = {
    url: token,
    form: { grant_type: 'refresh_token', client_secret: SECRET },
    advice: 'check client_secret',
  };
  const from = { credentials: [name, SECRET], grant: async () => grant };
  const call = () =>
    sendWithToken(name, from, { isExpired, advice: 'check refresh_token' }, context, (sent) =>
      context.fetch.request(data, { headers: { Authorization: `Bearer ${sent}` }, answers: [401] }),
    );
  return { call, grant, granted: () => granted };
}

async function isExpired(answer: GuardedAnswer): Promise<boolean> {
  const json = (await errorJson(answer)) as { category?: string } | undefined;
  return answer.status === 401 && json?.category === 'EXPIRED_AUTHENTICATION';
}

const refusalOf = (work: Promise<unknown>) =>
  work.then(
    () => 'no refusal',
    (error: unknown) => error as Refusal,
  );

it('is requested once for all that wait, and anew when an answer calls it expired', async () => {
  const { call, granted } = api('pages', 5);
  const first = await Promise.all(Array.from({ length: 5 }, call));
  expect(first.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(granted()).toBe(1);
  for (let page = 5; page < 60; page += 1) expect((await call()).status).toBe(200);
  expect(granted()).toBe(12);
});

it('is requested no third time for a call whose second answer calls it expired, too', async () => {
  const { call, granted } = api('never', 0);
  expect(await refusalOf(call())).toMatchObject({
    status: 'source_refused',
    message: expect.stringMatching(/answered 401 Unauthorized: check refresh_token$/) as string,
  });
  expect(granted()).toBe(2);
});

it('is renewed before it ends, and refused credentials rest for a while', async () => {
  let now = 0;
  let asked = 0;
  let isRefused = false;
  const token = new KeptToken<void>(
    async () => {
      asked += 1;
      if (isRefused) throw new Error('refused');
      return { token: `t${asked}`, until: usedUntil(now, 1_800) };
    },
    () => true,
    () => now,
  );
  expect(await token.find()).toBe('t1');
  now = 1_499_999;
  expect(await token.find()).toBe('t1');
  now = 1_500_000;
  expect(await token.find()).toBe('t2');
  token.drop('t1');
  expect(await token.find()).toBe('t2');
  isRefused = true;
  now = 3_000_000;
  await expect(token.find()).rejects.toThrow('refused');
  isRefused = false;
  now += 29_999;
  await expect(token.find()).rejects.toThrow('refused');
  expect(asked).toBe(3);
  now += 1;
  expect(await token.find()).toBe('t4');
  expect(usedUntil(0, 60)).toBe(30_000);
});

it('that is not given is refused by its code, without the words of the system', async () => {
  const url = source.serve('/no/token', (_, response) => {
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: 'invalid_grant', error_description: `wrong ${SECRET}` }));
  });
  const grant = { url, form: { client_secret: SECRET }, advice: 'check client_id and client_secret' };
  const refusal = await refusalOf(requestToken(grant, context));
  expect(refusal).toMatchObject({ status: 'source_refused' });
  expect((refusal as Refusal).message).toMatch(
    /gives no access token \(invalid_grant\): check client_id and client_secret$/,
  );
});

it('of an app that renews its refresh tokens is refused, with what to use instead', async () => {
  const { grant } = api('rotates', 1);
  const granted = await requestToken(grant, context);
  refuseRotation('r1', granted, 'api.example.com', 'a Service Key');
  expect(() => refuseRotation('r0', granted, 'api.example.com', 'a Service Key')).toThrow(/use a Service Key$/);
});

import { expect, it } from 'vitest';
import { z } from 'zod';
import { answerAs, jsonAnswer } from '../../../connectors/core/json-requests.ts';
import { type Answer, httpSource, status } from '../../harness/core/http-source.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { testContext } from './contract.ts';

const web = await httpSource();
const Page = z.object({ data: z.array(z.unknown()) });
const json =
  (text: string): Answer =>
  (_, response) => {
    response.writeHead(200, { 'content-type': 'application/vnd.api+json; charset=utf-8' }).end(text);
  };
const ask = (answer: Answer) => testContext(AbortSignal.timeout(HANGS_MS)).fetch.request(web.serve('/', answer));

it('an answer comes as its schema has it, with the digits of its numbers', async () => {
  const { data } = await answerAs(Page, await ask(json('{"data":[12345678901234567890],"more":true}')));
  expect(JSON.stringify(data)).toBe('[12345678901234567890]');
});

it('an answer without JSON says nothing', async () => {
  expect(await jsonAnswer(await ask(status(200)))).toBeUndefined();
  expect(await jsonAnswer(await ask(json('')))).toBeUndefined();
});

it.for<[string, Answer, string, RegExp]>([
  [
    'of another form',
    json('{"rows":[]}'),
    'source_refused',
    /^127\.0\.0\.1:\d+ answered with something else than was expected/,
  ],
  ['without JSON', status(200), 'source_refused', /something else/],
  [
    'that nests too deep',
    json(`{"data":${'['.repeat(10_000)}1.50${']'.repeat(10_000)}}`),
    'source_refused',
    /JSON that has .* 500 deep$/,
  ],
  ['that is broken', json('{"data":['), 'source_unavailable', /JSON that is broken/],
  ['of over 4 MiB', json(`{"data":["${'x'.repeat(4 * 1024 * 1024)}"]}`), 'source_unavailable', /more than 4 MiB/],
])('an answer %s is refused', async ([, answer, refused, says]) => {
  await expect(answerAs(Page, await ask(answer))).rejects.toMatchObject({
    status: refused,
    message: expect.stringMatching(says),
  });
});

it('a final no tells what to check', async () => {
  const asked = testContext(AbortSignal.timeout(HANGS_MS)).fetch.request(web.serve('/', status(401)), {
    advice: 'check token',
  });
  await expect(asked).rejects.toMatchObject({
    message: expect.stringMatching(/ answered 401 Unauthorized: check token$/),
  });
});

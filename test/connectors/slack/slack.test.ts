import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import type { Alert } from '../../../connectors/core/contract.ts';
import { slack } from '../../../connectors/slack/slack.ts';
import type { Refusal } from '../../../domain/core/refusal.ts';
import { type Answer, hangUp, httpSource, redirect, status } from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { testContext } from '../core/contract.ts';

const chat = await httpSource();
const SECRET = 'zqslacksecret';
rememberSecret(SECRET);
const ALERT: Alert = {
  kind: 'sync', identifier: 'syn_1', run: 'run_1', alert: 'failed', failure: null, text: 'Sync syn_1: a <b> & <!channel>.',
  link: 'http://millrace.test/api/syncs/syn_1/runs/run_1', ended_at: '2026-11-22T10:00:00.000Z',
};

const context = () => testContext(AbortSignal.timeout(60_000));
const settingsAt = (name: string, answer: Answer) => slack.settings.parse({ url: chat.serve(`/${SECRET}/${name}`, answer) });

it('posts one line, in which nothing is markup, and a line by which a check is seen', async () => {
  const posted: string[] = [];
  const settings = settingsAt('chat', (request, response) => void text(request).then((body) => {
    posted.push(body);
    response.writeHead(200).end('ok');
  }));
  await slack.alerts!.send(settings, ALERT, context());
  await slack.alerts!.check(settings, context());
  expect(posted.map((body) => JSON.parse(body))).toEqual([
    { text: 'Sync syn_1: a &lt;b&gt; &amp; &lt;!channel&gt;. http://millrace.test/api/syncs/syn_1/runs/run_1' },
    { text: 'Millrace can post its alerts here.' },
  ]);
});

it.for([
  ['that is no longer there', status(410), 'source_refused', /410.*make a new incoming webhook/],
  ['that leads elsewhere', redirect('/elsewhere', 303), 'source_refused', /./],
  ['that asks for patience', status(429, { 'retry-after': '7' }), 'source_unavailable', /429/],
  ['that is troubled', status(503), 'source_unavailable', /503/],
  ['that hangs up', hangUp, 'source_unavailable', /./],
] as const)('an address %s is refused so that it is known whether to try again, in words without the address', async (
  [name, answer, code, says],
) => {
  const settings = settingsAt(encodeURIComponent(name), answer);
  const refusal = await slack.alerts!.send(settings, ALERT, context()).then(() => null, (error: unknown) => error as Refusal);
  expect(refusal).toMatchObject({ status: code, message: expect.stringMatching(says) });
  expect(refusal!.message).not.toContain(SECRET);
});

import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { slack } from '../../../connectors/slack/slack.ts';
import { httpSource, status } from '../../harness/core/http-source.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { ALERT, alertContract } from '../core/alert-contract.ts';
import { testContext } from '../core/contract.ts';

const chat = await httpSource();
const context = () => testContext(AbortSignal.timeout(HANGS_MS));

alertContract(slack, 'zqslacksecret', (url) => ({ url }));

it('posts one line, in which nothing is markup, and a line by which a check is seen', async () => {
  const posted: string[] = [];
  const settings = slack.settings.parse({
    url: chat.serve(
      '/chat',
      (request, response) =>
        void text(request).then((body) => {
          posted.push(body);
          response.writeHead(200).end('ok');
        }),
    ),
  });
  await slack.alerts!.send(settings, ALERT, context());
  await slack.alerts!.check(settings, context());
  expect(posted.map((body) => JSON.parse(body))).toEqual([
    { text: 'Sync syn_1: a &lt;b&gt; &amp; &lt;!channel&gt;. http://millrace.test/api/syncs/syn_1/runs/run_1' },
    { text: 'Millrace can post its alerts here.' },
  ]);
});

it('says what to do about an address that is no longer there', async () => {
  const settings = slack.settings.parse({ url: chat.serve('/gone', status(410)) });
  await expect(slack.alerts!.send(settings, ALERT, context())).rejects.toThrow(/410.*make a new incoming webhook/);
});

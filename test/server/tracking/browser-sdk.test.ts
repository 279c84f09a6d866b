import { readFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { InjectOptions } from 'fastify';
import { expect, test } from 'vitest';
import { needChromium, openPage } from '../../harness/console/browser.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { testServer } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';
import { eventNames, insertKeyedApp } from './sample-tracking.ts';

const { store, world } = useServer();
const chromium = needChromium();

/** Serves over a real connection at an address that is known before what answers. */
async function listening(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await new Promise((resolve) => {
    server.once('listening', resolve);
  });
  onFileEnd(async () => {
    server.close().closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The page of the documentation, with the SDK from its package: in tests no other host is reached. */
async function documentedPage(): Promise<{ html: string; sdk: string }> {
  const docs = await readFile(new URL('../../../docs/tracking.md', import.meta.url), 'utf8');
  const [, html] = /```html\n(.*?)```/s.exec(docs)!;
  const [address, path] = /https:\/\/cdn\.jsdelivr\.net\/npm\/@segment\/analytics-next@[\d.]+([\w./]+)/.exec(html!)!;
  const sdk = await readFile(new URL(`../../../node_modules/@segment/analytics-next${path!}`, import.meta.url), 'utf8');
  return { html: html!.replace(address!, '/sdk.js'), sdk };
}

test.skipIf(chromium === null)(
  'the page of the documentation sends what it says, from a real browser, by plain HTTP',
  async () => {
    const app = await insertKeyedApp(store, world, { appType: 'Web App' });
    let forward: RequestListener = () => undefined;
    const publicUrl = await listening((request, response) => forward(request, response));
    const { app: millrace } = await testServer(store, { settings: { publicUrl } });
    forward = (request, response) =>
      void (async () => {
        const payload = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
        const answer = await millrace.inject({
          method: request.method as InjectOptions['method'] & string,
          url: request.url!,
          headers: request.headers,
          payload,
        });
        response.writeHead(answer.statusCode, answer.headers as Record<string, string>).end(answer.rawPayload);
      })();
    const { html, sdk } = await documentedPage();
    const page = html.replace('KEY', app.apiKey).replace('http://127.0.0.1:8080', publicUrl);
    const shop = await listening((request, response) => {
      const isSdk = request.url === '/sdk.js';
      response.writeHead(200, { 'content-type': isSdk ? 'text/javascript' : 'text/html' }).end(isSdk ? sdk : page);
    });
    openPage(chromium!, shop);
    const names = await waitFor('the events of the page', async () => {
      const found = await eventNames(store, app);
      return found.length >= 2 ? found : null;
    });
    expect(names).toEqual(['Signed Up', 'Viewed Shop Page']);
  },
);

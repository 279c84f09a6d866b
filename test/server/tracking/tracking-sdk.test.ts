import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createConnection } from 'node:net';
import { Analytics } from '@segment/analytics-node';
import { beforeAll, describe, expect, test } from 'vitest';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { personId } from '../../harness/core/people.ts';
import { waitFor } from '../../harness/core/wait.ts';
import { testServer } from '../http/test-server.ts';
import { useServer } from '../http/use-server.ts';
import { basic, eventNames, insertKeyedApp } from './sample-tracking.ts';

/** Segment's own SDK, and clients on a bad line, over real connections. */

const { store, server, world } = useServer();
let url: string;

async function listening(app: { listen(options: { port: number; host: string }): Promise<string> }): Promise<string> {
  return app.listen({ port: 0, host: '127.0.0.1' });
}

beforeAll(async () => {
  url = await listening(server.app);
});

const rowsOf = async (text: string, appId: number) =>
  (await store.db.query(text, [appId])).rows as Record<string, unknown>[];

describe('the SDK for Node', () => {
  test('brings all of its calls, in batches', async () => {
    const own = await insertKeyedApp(store, world, { appType: 'Web App' });
    const sdk = new Analytics({ writeKey: own.apiKey, host: url, flushAt: 4 });
    const errors: unknown[] = [];
    sdk.on('error', (error) => errors.push(error));
    const userId = personId(1);
    sdk.identify({ userId, traits: { email: 'one@example.com', plan: 'gold', seats: 3 } });
    sdk.group({ userId, groupId: 'acme', traits: { name: 'Acme' } });
    sdk.alias({ userId, previousId: 'before-1' });
    sdk.page({ userId, category: 'Docs', name: 'Start', properties: { path: '/' } });
    sdk.screen({ userId, name: 'Settings' });
    for (let nth = 0; nth < 10; nth += 1) {
      sdk.track({ userId, event: `Bought ${nth}`, properties: { price: 9.5 }, context: { locale: 'fr-BE' } });
    }
    sdk.track({ anonymousId: 'device-1', event: 'Tapped', timestamp: new Date(Date.now() - 3_600_000) });
    await sdk.closeAndFlush();
    expect(errors).toEqual([]);
    expect(await eventNames(store, own)).toEqual([
      ...Array.from({ length: 10 }, (_, nth) => `Bought ${nth}`),
      'Tapped',
      'Viewed Docs Start Page',
      'Viewed Settings Screen',
    ]);
    const appId = own.app.id;
    const attributes = await rowsOf(
      `SELECT key, value_type FROM customer_attributes a JOIN systems_of_records s ON s.id = a.sor_id
       WHERE s.app_id = $1 ORDER BY key`,
      appId,
    );
    expect(attributes.map((row) => `${String(row.key)} ${String(row.value_type)}`)).toEqual([
      'group_id String',
      'group_name String',
      'plan String',
      'seats Number',
    ]);
    const bought = await rowsOf(`SELECT detail, user_id FROM events WHERE app_id = $1 AND name = 'Bought 3'`, appId);
    expect(bought).toEqual([{ detail: { price: 9.5 }, user_id: userId }]);
    const aliases = await rowsOf('SELECT previous_id FROM user_aliases WHERE entity_id = $1', world.entity.id);
    expect(aliases).toEqual([{ previous_id: 'before-1' }]);
    const [tapped] = await rowsOf(
      `SELECT extract(epoch FROM now() - happened_at)::int AS ago FROM events WHERE app_id = $1 AND name = 'Tapped'`,
      appId,
    );
    expect(tapped!.ago).toBeGreaterThan(3_500);
  });

  test('that is told of a failure although all was committed brings no second event', async () => {
    const own = await insertKeyedApp(store, world);
    let failures = 0;
    const proxy = createServer((request, reply) => {
      void (async () => {
        const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>));
        const { authorization = '', 'content-type': type = '' } = request.headers;
        const answer = await fetch(url + request.url!, {
          method: 'POST',
          body,
          headers: { authorization, 'content-type': type },
        });
        const text = await answer.text();
        const fails = failures < 3;
        if (fails) failures += 1;
        reply.writeHead(fails ? 503 : answer.status).end(text);
      })();
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    onFileEnd(async () => proxy.close());
    const { port } = proxy.address() as AddressInfo;
    const sdk = new Analytics({ writeKey: own.apiKey, host: `http://127.0.0.1:${port}`, flushAt: 5, maxRetries: 5 });
    for (let nth = 0; nth < 10; nth += 1) sdk.track({ userId: personId(nth % 3), event: `Kept ${nth}` });
    await sdk.closeAndFlush();
    expect(failures).toBe(3);
    expect(await eventNames(store, own)).toEqual(Array.from({ length: 10 }, (_, nth) => `Kept ${nth}`));
    const counts =
      'SELECT sum(accepted)::int AS accepted, sum(duplicates)::int AS duplicates FROM ingested_batches WHERE app_id = $1';
    expect(await rowsOf(counts, own.app.id)).toEqual([{ accepted: 10, duplicates: 15 }]);
  });
});

describe('a slow client', () => {
  test('is heard to the end, or let go with a 408, and nobody else waits for it', async () => {
    const own = await insertKeyedApp(store, world);
    const limited = await testServer(store, { settings: { limits: { idleBodyMs: 2_000 } } });
    const at = new URL(await listening(limited.app));
    const body = JSON.stringify({
      batch: [{ type: 'track', event: 'Slow', userId: personId(1) }],
      writeKey: own.apiKey,
    });
    const slow = (send: string) => {
      const socket = createConnection(Number(at.port), '127.0.0.1');
      const heard = { text: '' };
      socket.on('data', (bytes) => {
        heard.text += String(bytes);
      });
      socket.write(
        `POST /v1/batch HTTP/1.1\r\nHost: x\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${send}`,
      );
      onFileEnd(async () => socket.destroy());
      return { socket, heard };
    };
    const [stalled, dripping] = [slow(body.slice(0, 10)), slow('')];
    const others = async () => {
      const answer = await fetch(`${at.origin}/v1/track`, {
        method: 'POST',
        headers: basic(own.apiKey),
        body: JSON.stringify({ event: 'Quick', userId: personId(2) }),
      });
      expect(answer.status).toBe(200);
      return false;
    };
    let sent = 0;
    // Each drip comes as soon as another client was served.
    await waitFor('the last drip', async () => {
      await others();
      dripping.socket.write(body.slice(sent, (sent += 10)));
      return sent >= body.length;
    });
    await waitFor('the answer to the drips', async () => /^HTTP\/1.1 200 .*"accepted":1/s.test(dripping.heard.text));
    await waitFor('a 408', async () => /^HTTP\/1.1 408 .*"request_timeout"/s.test(stalled.heard.text) || others());
    expect(await eventNames(store, own)).toContain('Slow');
  });
});

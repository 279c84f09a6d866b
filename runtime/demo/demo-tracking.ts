import type { IngestedCalls } from '../../api/client.ts';
import { table } from '../../cli/core/table.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { demoCalls } from './demo-calls.ts';
import { cut } from './demo-outcome.ts';
import type { DemoServer } from './demo-server.ts';
import type { DemoSor } from './demo-sor.ts';

type Answer = IngestedCalls & { error_message?: string };

/**
 * Makes an app, sends what its SDK would, and tells what came of it; returns the app's identifier. Its name holds the
 * SoR's.
 */
export async function demoTracking(
  { url, client }: DemoServer,
  sor: DemoSor,
  say: (text: string) => void,
): Promise<string> {
  const { identifier: app } = await client.createApp({
    body: { name: 'Demo app', package_name: `com.example.demo.${sor.identifier}`, app_type: 'iOS App' },
  });
  const { api_key: key } = await client.createApiKey({ params: { app_identifier: app }, body: {} });
  say(`\nApp ${app} ("Demo app"), whose SDK sends to ${url}/v1/batch`);
  const batch = demoCalls(Date.now());
  const { accepted, duplicates, refused } = await send(url, key, batch);
  say(`Batch: ${batch.length} calls = ${accepted} accepted + ${duplicates} duplicates + ${refused.length} refused\n`);
  say(
    table(
      ['call', 'code', 'reason'],
      refused.map(({ index, code, message }) => [String(index), code, cut(message, 90)]),
    ),
  );
  return app;
}

/** As an SDK does: the key is the user of Basic authentication. */
async function send(url: string, key: string, batch: object[]): Promise<Answer> {
  const reply = await fetch(new URL('/v1/batch', url), {
    method: 'POST',
    body: JSON.stringify({ batch }),
    headers: {
      authorization: `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
      'content-type': 'application/json',
    },
  });
  const answer = (await reply.json()) as Answer;
  return reply.ok ? answer : refuse(reply.status, reply.status, `The batch was not taken: ${answer.error_message}`);
}

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { inject } from 'vitest';
import { onFileEnd } from './clean-up.ts';

type OtlpAttribute = { key: string; value: Record<string, unknown> };
type OtlpSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  traceState?: string;
  attributes: OtlpAttribute[];
  events: { name: string; attributes: OtlpAttribute[] }[];
  links: unknown[];
  status: { code: number; message?: string };
};
type OtlpRequest = {
  resourceSpans: { resource: { attributes: OtlpAttribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
};

/** A span as it was received, its attributes by name. */
export type ReceivedSpan = Omit<OtlpSpan, 'attributes' | 'events'> & {
  service: unknown;
  attributes: Record<string, unknown>;
  exceptions: Record<string, unknown>[];
};

export type OtlpReceiver = {
  url: string;
  spans: ReceivedSpan[];
  /** All that came, as it came. */
  received(): string;
  /** From now on every call is answered with this status. */
  answer(status: number): void;
};

/**
 * A receiver of traces (OTLP 1.x over HTTP, as JSON), which keeps what it gets for the search at the end of the run.
 */
export async function otlpReceiver(name: string): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const bodies: string[] = [];
  let status = 200;
  const kept = createWriteStream(join(inject('runFolder'), `traces-${name}.log`));
  const take = (body: string) => {
    if (status === 200) spans.push(...spansOf(JSON.parse(body) as OtlpRequest));
    bodies.push(body);
    kept.write(`${body}\n`);
    return status;
  };
  const server = createServer((request, response) => {
    const taken = isTraces(request) ? text(request).then(take) : Promise.resolve(404);
    void taken.then((code) => response.writeHead(code, { 'content-type': 'application/json' }).end('{}'));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onFileEnd(async () => {
    server.closeAllConnections();
    server.close();
    kept.end();
    await Promise.all([once(server, 'close'), once(kept, 'close')]);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    received: () => bodies.join('\n'),
    answer: (next) => {
      status = next;
    },
  };
}

function isTraces({ method, url, headers }: IncomingMessage): boolean {
  return method === 'POST' && url === '/v1/traces' && headers['content-type'] === 'application/json';
}

function spansOf({ resourceSpans }: OtlpRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        ...span,
        service: byName(resource.attributes)['service.name'],
        attributes: byName(span.attributes),
        exceptions: span.events.map(({ attributes }) => byName(attributes)),
      })),
    ),
  );
}

function byName(attributes: OtlpAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}

import { Writable } from 'node:stream';
import type { FastifyInstance, InjectOptions } from 'fastify';
import { pino } from 'pino';
import { type FetchAllow, readFetchAllow } from '../../../connectors/core/fetch-allow.ts';
import { guardedFetch } from '../../../connectors/core/guarded-fetch.ts';
import type { JobKind, JobRef } from '../../../domain/jobs/job.ts';
import { openCpuShare } from '../../../runtime/app-context.ts';
import { buildServer } from '../../../server/app.ts';
import type {
  ConsoleFiles,
  ObservedRequest,
  Readiness,
  ServerDependencies,
  ServerSettings,
} from '../../../server/dependencies.ts';
import type { Route } from '../../../server/http/route.ts';
import type { Flows } from '../../../temporal/flows.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import type { TestStore } from '../../harness/core/database.ts';
import { keepFault } from '../../harness/run/faults.ts';

export type TestServer = {
  app: FastifyInstance;
  /** Imports whose workflow was asked for. */
  started: [JobKind, JobRef][];
  /** Entities whose feed was woken. */
  woken: number[];
  logs: Record<string, unknown>[];
  observed: ObservedRequest[];
  /** A request with a token; `v3` sets Accept. */
  call(method: Method, url: string, options?: CallOptions): Promise<Answer>;
};

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type CallOptions = {
  token?: string;
  v3?: boolean;
  body?: InjectOptions['payload'];
  headers?: Record<string, string>;
};
// oxlint-disable-next-line typescript/no-explicit-any -- a test says what it expects of a body by looking
export type Answer = { status: number; headers: Record<string, unknown>; text: string; body: any };

type Options = {
  settings?: Partial<ServerSettings>;
  routes?: Route[];
  ready?: () => Promise<Readiness[]>;
  /** MILLRACE_FETCH_ALLOW. */
  allowed?: string;
  console?: ConsoleFiles;
} & Partial<Flows>;

/** The HTTP surface over a test's store; workflows are only noted down. */
export async function testServer(store: TestStore, options: Options = {}): Promise<TestServer> {
  const started: [JobKind, JobRef][] = [];
  const woken: number[] = [];
  const logs: Record<string, unknown>[] = [];
  const observed: ObservedRequest[] = [];
  const lines = new Writable({
    write(line: Buffer, _encoding, done) {
      const parsed = JSON.parse(line.toString()) as Record<string, unknown>;
      logs.push(parsed);
      keepFault(parsed);
      done();
    },
  });
  const app = await buildServer(
    {
      ...store,
      outside: outsideOf(options.allowed ?? '127.0.0.1'),
      cpuShare: openCpuShare(),
      log: pino(lines),
      metrics: {
        observeRequest: (request) => observed.push(request),
        countInternalError: () => {},
        countCalls: () => {},
        text: async () => 'up 1\n',
        contentType: 'text/plain',
      },
      flows: {
        startJob: async (kind, ref) => void started.push([kind, ref]),
        cancelSend: async () => {},
        wakeFeed: async (entityId) => void woken.push(entityId),
        wakeSegments: async () => {},
        followSync: async () => {},
        tellHoldsChanged: async () => {},
        followExporter: async () => {},
        ...options,
      },
      ready: options.ready ?? (async () => []),
      ...(options.console ? { console: options.console } : {}),
      settings: {
        publicUrl: 'http://millrace.test',
        tokenTtlDays: 30,
        rateLimitPerMinute: 0,
        ingestLimitPerMinute: 0,
        version: '0',
        ...options.settings,
      },
    },
    options.routes,
  );
  onFileEnd(() => app.close());
  return { app, started, woken, logs, observed, call: (method, url, asked) => call(app, method, url, asked) };
}

function outsideOf(allowed: string): ServerDependencies['outside'] {
  const allow = readFetchAllow(allowed) as FetchAllow;
  return { allow, fetch: guardedFetch(allow), commands: new Map() };
}

async function call(
  app: FastifyInstance,
  method: Method,
  url: string,
  { token, v3, body, headers }: CallOptions = {},
): Promise<Answer> {
  const reply = await app.inject({
    method,
    url,
    ...(body === undefined ? {} : { payload: body }),
    headers: {
      accept: v3 ? 'application/vnd.svc.v3' : 'application/json',
      ...(token ? { authorization: `Token ${token}` } : {}),
      ...headers,
    },
  });
  const isJson = String(reply.headers['content-type']).startsWith('application/json');
  const json: unknown = isJson ? JSON.parse(reply.body) : null;
  return { status: reply.statusCode, headers: reply.headers, text: reply.body, body: json };
}

/** A web form with one file, as curl sends it: fields and the file in the order given. */
export function webForm(parts: [name: string, value: string | Buffer][]): {
  body: Buffer;
  headers: Record<string, string>;
} {
  const boundary = 'millrace-test-boundary';
  const pieces = parts.flatMap(([name, value]) => {
    const file = Buffer.isBuffer(value) ? '; filename="import.csv"\r\nContent-Type: text/csv' : '';
    return [`--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`, value, '\r\n'];
  });
  return {
    body: Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece as string))),
    headers: { 'content-type': `multipart/form-data; boundary=${boundary}` },
  };
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import pg from 'pg';

/** The outside systems of a walk: a shop's Postgres, addresses of files, and a webhook. */
export type Outside = {
  url: string;
  /** Settings of the connector `postgres` for the shop's database. */
  shop: { host: string; port: number; database: string; user: string; password: string; tls: 'off' };
  /** Sets what the shop's table holds of a customer. */
  sell(table: string, email: string, tier: string): Promise<void>;
  /** Sets what an address serves. */
  serve(path: string, content: string): void;
  stop(): Promise<void>;
};

export async function openOutside(shopUrl: string): Promise<Outside> {
  const files = new Map<string, string>();
  const server = createServer(
    (request, response) => void answer(request, response, files).catch(() => response.destroy()),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { hostname, port, pathname, username, password } = new URL(shopUrl);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    shop: {
      host: hostname,
      port: Number(port),
      database: pathname.slice(1),
      user: username,
      password: decodeURIComponent(password),
      tls: 'off',
    },
    async sell(table, email, tier) {
      // Postgres may be killed just now, as everybody's.
      const client = new pg.Client({ connectionString: shopUrl, connectionTimeoutMillis: 5_000 });
      client.on('error', () => {});
      try {
        await client.connect();
        await client.query(
          `CREATE TABLE IF NOT EXISTS ${table} (email text PRIMARY KEY, tier text, changed_at timestamptz NOT NULL)`,
        );
        await client.query(
          `INSERT INTO ${table} VALUES ($1, $2, now()) ON CONFLICT (email) DO UPDATE SET tier = $2, changed_at = now()`,
          [email, tier],
        );
      } finally {
        await client.end().catch(() => {});
      }
    },
    serve: (path, content) => files.set(path, content),
    async stop() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A file, or of a webhook one outcome for each record: every fifth is refused in words that quote it. */
async function answer(request: IncomingMessage, response: ServerResponse, files: Map<string, string>): Promise<void> {
  const content = files.get(request.url ?? '');
  if (request.method === 'GET') {
    response.writeHead(content === undefined ? 404 : 200, { 'content-type': 'text/csv' }).end(content);
    return;
  }
  const { records = [] } = (await json(request)) as { records?: object[] };
  const outcomes = records.map((record, nth) =>
    nth % 5 === 4 ? { ok: false, message: `no ${JSON.stringify(record)}` } : { ok: true },
  );
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ outcomes }));
}

import { randomBytes } from 'node:crypto';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { once } from 'node:events';
import type { Database } from '../../../store/core/database.ts';
import { onFileEnd } from '../core/clean-up.ts';
import type { TestStore } from '../core/database.ts';
import { rememberSecret } from '../core/people.ts';

export type ForeignPostgres = {
  db: Database;
  role: string;
  /** Of the connector `postgres`. */
  settings: {
    host: string;
    port: number;
    database: string;
    user: string;
    password: string;
    tls: 'off';
    schema: string;
  };
};

/** A schema of its own in the test's database, with a user who may do everything there, as if it were another's. */
export async function foreignPostgres({ db, url }: TestStore): Promise<ForeignPostgres> {
  const mark = randomBytes(6).toString('hex');
  const [role, password, schema] = [`foreign_${mark}`, `zqforeign${mark}`, `Foreign "${mark}"`];
  rememberSecret(password);
  await db.query(`CREATE ROLE ${role} LOGIN PASSWORD '${password}'`);
  await db.query(`CREATE SCHEMA "${schema.replaceAll('"', '""')}" AUTHORIZATION ${role}`);
  onFileEnd(async () => {
    await db.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
  });
  const { hostname, port, pathname } = new URL(url);
  return {
    db,
    role,
    settings: {
      host: hostname,
      port: Number(port),
      database: pathname.slice(1),
      user: role,
      password,
      tls: 'off',
      schema,
    },
  };
}

/** Postgres's own way into TLS (protocol: SSLRequest) before a server that has none; gives its port. */
export async function tlsBefore(port: number, certificate: { key: string; cert: string }): Promise<number> {
  const sockets = new Set<Socket>();
  const keep = (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
  };
  const server = createServer((plain) => {
    keep(plain);
    plain.once('data', () => {
      plain.write('S');
      const secure = new TLSSocket(plain, { isServer: true, ...certificate });
      const behind = connect(port, '127.0.0.1');
      keep(behind);
      secure.on('error', () => behind.destroy());
      secure.pipe(behind).pipe(secure);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onFileEnd(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
  });
  return (server.address() as AddressInfo).port;
}

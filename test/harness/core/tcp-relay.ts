import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { onFileEnd } from './clean-up.ts';

export type TcpRelay = {
  address: string;
  /** Ends all connections, and takes no more. */
  cut(): void;
};

/** Passes connections on to another address, until it is cut: whoever goes by it is then without that server. */
export async function tcpRelay(to: string): Promise<TcpRelay> {
  const [host, port] = to.split(':') as [string, string];
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(port), host);
    for (const [from, onTo] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(from);
          onTo.destroy();
        });
      from.pipe(onTo);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  onFileEnd(async () => cut());
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, cut };
}

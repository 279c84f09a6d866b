import { once } from 'node:events';
import { expect, it } from 'vitest';
import { type FetchAllow, NOTHING_ALLOWED, readFetchAllow } from '../../../connectors/core/fetch-allow.ts';
import { guardedSocket } from '../../../connectors/core/address-guard.ts';
import { httpSource } from '../../harness/core/http-source.ts';

const server = await httpSource();
const resolvingTo =
  (...addresses: string[]) =>
  async () =>
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
const allowed = (text: string) => readFetchAllow(text) as FetchAllow;

/** Where it is connected to, or why it is not. */
async function reached(host: string, allow: FetchAllow, addresses: string[]): Promise<string> {
  const socket = guardedSocket(host, server.port, allow, resolvingTo(...addresses));
  // A client names its own host and port: they don't matter.
  socket.connect(1, 'example.com');
  try {
    await once(socket, 'connect');
    return socket.destroyed ? 'destroyed' : (socket.remoteAddress ?? '');
  } catch (error) {
    return (error as Error).message;
  } finally {
    socket.destroy();
  }
}

it('a socket connects to what it was made for, at addresses that are allowed', async () => {
  expect(await reached('127.0.0.1', allowed('127.0.0.1'), [])).toBe('127.0.0.1');
  expect(await reached('db.example.com', allowed(`db.example.com:${server.port}`), ['127.0.0.1'])).toBe('127.0.0.1');
  expect(await reached('db.example.com', allowed('127.0.0.1'), ['10.0.0.1', '127.0.0.1'])).toBe('127.0.0.1');
});

it('a socket goes to no other address, by number or by any name', async () => {
  const open = server.connections();
  for (const [host, allow, addresses] of [
    ['127.0.0.1', NOTHING_ALLOWED, []],
    ['db.example.com', NOTHING_ALLOWED, ['127.0.0.1']],
    ['db.example.com', allowed('other.example.com'), ['127.0.0.1']],
    ['db.example.com', allowed('10.0.0.1'), ['127.0.0.1']],
    ['::ffff:127.0.0.1', NOTHING_ALLOWED, []],
    ['db.example.com', NOTHING_ALLOWED, ['169.254.169.254', '::1', 'fe80::1']],
  ] as [string, FetchAllow, string[]][]) {
    expect(await reached(host, allow, addresses)).toMatch(/is not at a public address/);
  }
  expect(server.connections()).toBe(open);
});

import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { openTemporalClient } from '../../temporal/client.ts';
import { onFileEnd } from '../harness/core/clean-up.ts';

it('a call that waits to be tried again ends when its client is closed, and not the process', async () => {
  let failures = 0;
  const broken = createServer((socket) => {
    failures += 1;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  onFileEnd(async () => {
    broken.close();
  });
  await once(broken, 'listening');
  const address = `127.0.0.1:${(broken.address() as AddressInfo).port}`;
  const client = await openTemporalClient({ address, namespace: 'none' }, 'test');

  const called = client.workflow
    .getHandle('none')
    .signal('none')
    .then(
      () => null,
      (error: Error) => error,
    );
  await once(broken, 'connection');
  await client.connection.close();

  expect(await called).toMatchObject({ cause: { details: 'Channel has been shut down' } });
  expect(failures).toBeGreaterThan(0);
});

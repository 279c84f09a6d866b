import { describe, expect, it } from 'vitest';
import type { AnyPushProvider, OpenPushProvider, PushContext } from '../../../connectors/push/contract.ts';
import { type PushOutcome, type PushTarget, secretsOf } from '../../../domain/sends/push.ts';
import { CLOSED_PORT } from '../../harness/core/closed-port.ts';
import type { Disruption, Http2Server } from '../../harness/sends/http2-server.ts';
import { pushContext, pushMessage } from '../../harness/sends/push-messages.ts';

export type PreparedProvider = {
  server: Http2Server;
  /** To a server at this origin. */
  settings(origin: string): unknown;
  context?: Partial<PushContext>;
  /** A device that the server knows, and that is reached through this origin. */
  target(number: number, origin: string): PushTarget;
};

/** The outcome of a request that meets each disruption: `unknown` where the provider may have taken it. */
const MEETS: Record<Exclude<Disruption, 'silence'>, PushOutcome['kind']> = {
  drop: 'unknown',
  reset: 'unknown',
  refuse: 'not_sent',
  goaway: 'not_sent',
};

/** What every provider that sends over a network has to pass. */
export function pushContract(provider: AnyPushProvider, prepare: () => Promise<PreparedProvider>): void {
  let made: Promise<PreparedProvider> | undefined;
  const prepared = () => (made ??= prepare());

  async function opened<T>(
    work: (open: OpenPushProvider, made: PreparedProvider) => Promise<T>,
    options: Parameters<typeof pushContext>[0] = {},
    at?: string,
  ): Promise<T> {
    const ready = await prepared();
    const settings = provider.settings.parse(ready.settings(at ?? ready.server.origin));
    const open = provider.open(settings, pushContext({ ...ready.context, ...options } as never));
    try {
      return await work(open, ready);
    } finally {
      await open.close();
    }
  }

  describe(`${provider.name}, as every provider`, () => {
    it('sends many at once over few connections, and never more than the other side takes', async () => {
      await opened(async (open, { server, target }) => {
        const before = server.connections();
        const numbers = Array.from({ length: 300 }, (_, number) => number);
        const outcomes = await Promise.all(
          numbers.map((number) => open.send(target(number, server.origin), pushMessage())),
        );
        expect(outcomes.filter(({ kind }) => kind !== 'sent')).toEqual([]);
        expect(server.connections() - before).toBeLessThanOrEqual(5);
        expect(server.atOnce()).toBeLessThanOrEqual(400);
      });
    });

    it.for(Object.entries(MEETS))(
      'tells what may have gone out from what did not: %s is %s',
      async ([disruption, kind]) => {
        await opened(async (open, { server, target }) => {
          await open.send(target(0, server.origin), pushMessage());
          server.disrupt(disruption as Disruption);
          const outcome = await open.send(target(1, server.origin), pushMessage());
          expect(outcome).toMatchObject({ kind });
          for (const secret of secretsOf(target(1, server.origin)))
            expect(JSON.stringify(outcome)).not.toContain(secret);
          // It goes on, over a new connection where it has to.
          await expect(open.send(target(2, server.origin), pushMessage())).resolves.toMatchObject({ kind: 'sent' });
        });
      },
    );

    it('calls what got no answer unknown, and goes on', async () => {
      await opened(
        async (open, { server, target }) => {
          await open.send(target(0, server.origin), pushMessage());
          server.disrupt('silence');
          const outcome = await open.send(target(1, server.origin), pushMessage());
          expect(outcome).toMatchObject({ kind: 'unknown', reason: expect.stringMatching(/did not answer in time/) });
          await expect(open.send(target(2, server.origin), pushMessage())).resolves.toMatchObject({ kind: 'sent' });
        },
        { limits: { answerMs: 1_500 } },
      );
    });

    it('calls what could not be connected to not sent', async () => {
      const origin = `https://localhost:${CLOSED_PORT}`;
      await opened(
        async (open, { target }) => {
          const outcomes = await Promise.all(
            [1, 2, 3].map((number) => open.send(target(number, origin), pushMessage())),
          );
          expect(outcomes.map(({ kind }) => kind)).toEqual(['not_sent', 'not_sent', 'not_sent']);
          expect(outcomes[0]).toMatchObject({ reason: expect.stringMatching(/^localhost:\d+ refused the connection/) });
        },
        {},
        origin,
      );
    });

    it('reaches no private address that is not allowed', async () => {
      await opened(
        async (open, { server, target }) => {
          const before = server.connections();
          await expect(open.send(target(1, server.origin), pushMessage())).resolves.toMatchObject({
            kind: 'refused',
            code: 'ADDRESS_REFUSED',
            reason: expect.stringMatching(/not at a public address/),
          });
          expect(server.connections()).toBe(before);
        },
        { allow: '' },
      );
    });
  });
}

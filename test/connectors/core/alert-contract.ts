import { describe, expect, it } from 'vitest';
import type { Alert, AnyConnector } from '../../../connectors/core/contract.ts';
import type { Refusal } from '../../../domain/core/refusal.ts';
import { type Answer, hangUp, httpSource, redirect, status } from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { HANGS_MS } from '../../harness/core/wait.ts';
import { testContext } from './contract.ts';

export const ALERT: Alert = {
  kind: 'sync',
  identifier: 'syn_1',
  run: 'run_1',
  alert: 'failed',
  failure: null,
  text: 'Sync syn_1: a <b> & <!channel>.',
  link: 'http://millrace.test/api/syncs/syn_1/runs/run_1',
  ended_at: '2026-11-22T10:00:00.000Z',
};

/**
 * What every connector has to pass that posts alerts to an address. `settingsAt` gives what it is to have there, with
 * this secret.
 */
export function alertContract(connector: AnyConnector, secret: string, settingsAt: (url: string) => object): void {
  const channel = connector.alerts!;
  const parts = ['check', 'send'] as const;
  rememberSecret(secret);

  describe(`the alerts of ${connector.name}`, async () => {
    const receiver = await httpSource();
    const context = () => testContext(AbortSignal.timeout(HANGS_MS));
    const settingsOf = (answer: Answer) => connector.settings.parse(settingsAt(receiver.serve(`/${secret}`, answer)));
    const does = {
      check: (settings: unknown) => channel.check(settings, context()),
      send: (settings: unknown) => channel.send(settings, ALERT, context()),
    };

    it.for(parts)('arrive whatever is said to them, if it is a yes: %s', async (part) => {
      await expect(
        does[part](
          settingsOf((_, response) => {
            response.writeHead(204).end();
          }),
        ),
      ).resolves.toBeUndefined();
    });

    it.for([
      [
        'that is no longer there',
        status(410),
        { status: 'source_refused', message: expect.stringContaining('answered 410') },
      ],
      [
        'that does not let them in',
        status(403),
        { status: 'source_refused', message: expect.stringContaining('answered 403') },
      ],
      ['that leads elsewhere', redirect('/elsewhere', 303), { status: 'source_refused' }],
      [
        'that asks for patience',
        status(429, { 'retry-after': '7' }),
        { status: 'source_unavailable', extra: { retry_after: 7 } },
      ],
      ['that is troubled', status(503), { status: 'source_unavailable' }],
      ['that hangs up', hangUp, { status: 'source_unavailable' }],
    ] as const)(
      'are refused by an address %s, so that it is known whether to try again, in words without the secret',
      async ([, answer, refused]) => {
        for (const part of parts) {
          const refusal = await does[part](settingsOf(answer)).then(
            () => null,
            (error: unknown) => error as Refusal,
          );
          expect(refusal).toMatchObject(refused);
          expect(refusal!.message).not.toContain(secret);
        }
      },
    );
  });
}

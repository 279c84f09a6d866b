import { describe, expect, it } from 'vitest';
import { sandbox } from '../../../connectors/sandbox/sandbox.ts';
import type { PushOutcome, PushTarget } from '../../../domain/sends/push.ts';
import { pushContext, pushMessage } from '../../harness/sends/push-messages.ts';

const open = sandbox.open({}, pushContext());

const browser = (name: string): PushTarget => ({
  platform: 'web',
  subscription: { endpoint: `https://push.example.com/send/${name}`, p256dh: 'key', auth: 'auth' },
});

describe('the sandbox', () => {
  it.for<[string, Partial<PushOutcome>]>([
    ['sandbox-gone', { kind: 'gone' }],
    ['sandbox-too-big', { kind: 'too_big' }],
    ['sandbox-throttled', { kind: 'throttled', retryAfterMs: 60_000 }],
    ['sandbox-refused', { kind: 'refused', code: 'SANDBOX_REFUSED' }],
    ['sandbox-not-sent', { kind: 'not_sent' }],
    ['sandbox-unknown', { kind: 'unknown' }],
    ['sandbox-anything', { kind: 'sent' }],
  ])('plays every outcome by the token: %s', async ([token, outcome]) => {
    for (const target of [{ platform: 'android', token: `${token}-17` } as const, browser(`${token}-17`)]) {
      expect(open.settle!(target, pushMessage())).toMatchObject(outcome);
      await expect(open.send(target, pushMessage())).resolves.toMatchObject(outcome);
    }
  });

  it("finds too big what the platform's provider would", async () => {
    const message = pushMessage({ body: 'x'.repeat(4_080) });
    for (const target of [
      { platform: 'ios', token: 'a' } as const,
      { platform: 'android', token: 'a' } as const,
      browser('x'),
    ]) {
      await expect(open.send(target, message)).resolves.toMatchObject({ kind: 'too_big', maxBytes: 4_096 });
    }
  });

  it('says in a check that nothing goes out', async () => {
    await expect(open.check()).resolves.toEqual([expect.objectContaining({ severity: 'warning', field: 'provider' })]);
  });
});

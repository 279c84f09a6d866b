import { describe, expect, it } from 'vitest';
import type { SandboxPush } from '../../../connectors/push/contract.ts';
import { sandbox } from '../../../connectors/sandbox/sandbox.ts';
import type { PushOutcome, PushTarget } from '../../../domain/sends/push.ts';
import { pushContext, pushMessage } from '../../harness/sends/push-messages.ts';

function openSandbox() {
  const recorded: SandboxPush[] = [];
  const open = sandbox.open({}, pushContext({ record: async (sent) => { recorded.push(sent); } }));
  return { open, recorded };
}

const browser = (name: string): PushTarget => (
  { platform: 'web', subscription: { endpoint: `https://push.example.com/send/${name}`, p256dh: 'key', auth: 'auth' } });

describe('the sandbox', () => {
  it('records what each platform would get, and sends nothing', async () => {
    const { open, recorded } = openSandbox();
    const message = pushMessage({ parameters: { order: '7' } });
    const targets: PushTarget[] = [{ platform: 'ios', token: 'ab' }, { platform: 'android', token: 'ab' }, browser('x')];
    for (const target of targets) {
      await expect(open.send(target, message)).resolves.toEqual({ kind: 'sent', providerId: `sandbox/${message.id}` });
    }
    expect(recorded.map(({ target, outcome, payload }) => [target.platform, outcome, JSON.parse(payload)])).toEqual([
      ['ios', 'sent', {
        order: '7', millrace_id: message.id, aps: { alert: { title: 'Your order', body: 'It is on its way' }, sound: 'default' },
      }],
      ['android', 'sent', { message: {
        token: 'ab', notification: { title: 'Your order', body: 'It is on its way' }, data: { order: '7', millrace_id: message.id },
        android: { priority: 'HIGH', ttl: '3600s', notification: { tag: message.id, sound: 'default' } },
      } }],
      ['web', 'sent', {
        title: 'Your order', body: 'It is on its way', millrace_id: message.id, sound: 'default', parameters: { order: '7' },
      }],
    ]);
  });

  it.for<[string, Partial<PushOutcome>]>([
    ['sandbox-gone', { kind: 'gone' }],
    ['sandbox-too-big', { kind: 'too_big' }],
    ['sandbox-throttled', { kind: 'throttled', retryAfterMs: 60_000 }],
    ['sandbox-refused', { kind: 'refused', code: 'SANDBOX_REFUSED' }],
    ['sandbox-not-sent', { kind: 'not_sent' }],
    ['sandbox-unknown', { kind: 'unknown' }],
    ['sandbox-anything', { kind: 'sent' }],
  ])('plays every outcome by the token: %s', async ([token, outcome]) => {
    const { open, recorded } = openSandbox();
    for (const target of [{ platform: 'android', token: `${token}-17` } as const, browser(`${token}-17`)]) {
      await expect(open.send(target, pushMessage())).resolves.toMatchObject(outcome);
    }
    expect(recorded.map((sent) => sent.outcome)).toEqual([outcome.kind, outcome.kind]);
  });

  it('finds too big what the platform\'s provider would', async () => {
    const { open } = openSandbox();
    const message = pushMessage({ body: 'x'.repeat(4_080) });
    for (const target of [{ platform: 'ios', token: 'a' } as const, { platform: 'android', token: 'a' } as const, browser('x')]) {
      await expect(open.send(target, message)).resolves.toMatchObject({ kind: 'too_big', maxBytes: 4_096 });
    }
  });

  it('says in a check that nothing goes out', async () => {
    await expect(openSandbox().open.check()).resolves.toEqual([expect.objectContaining({ severity: 'warning', field: 'provider' })]);
  });
});

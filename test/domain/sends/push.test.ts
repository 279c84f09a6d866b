import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  apnsHeaders,
  apnsPayload,
  fcmBytes,
  fcmMessage,
  PUSH_PLATFORMS,
  type PushMessage,
  webPushPayload,
} from '../../../domain/sends/push.ts';

const text = fc.string({ unit: 'grapheme', maxLength: 60 });
const taken = ['aps', 'millrace_id', 'deep_linking_url', 'push_category', 'push_subtitle', '__proto__', 'body'];
const names = fc.oneof(text, fc.constantFrom(...taken));
const messages: fc.Arbitrary<PushMessage> = fc.record({
  id: fc.uuid(),
  title: fc.option(text),
  subtitle: fc.option(text),
  body: text,
  deepLink: fc.option(fc.webUrl()),
  attachmentUrl: fc.option(fc.webUrl()),
  category: fc.option(text),
  sound: fc.option(text),
  parameters: fc.dictionary(names, text),
  ttlSeconds: fc.integer({ min: 0, max: 10_000_000 }),
  collapseKey: fc.option(fc.string({ minLength: 1, maxLength: 20 })),
  priority: fc.constantFrom('high' as const, 'normal' as const),
});

describe('a push message', () => {
  it('says to each platform who it is from, and where a tap leads, whatever its parameters are called', () => {
    fc.assert(
      fc.property(messages, (message) => {
        const { id, body, deepLink } = message;
        const apns = JSON.parse(apnsPayload(message)) as Record<string, unknown>;
        const { data, notification } = fcmMessage(message, 'android', 'token', 0);
        const web = JSON.parse(webPushPayload(message)) as Record<string, unknown>;
        expect([apns['millrace_id'], data['millrace_id'], web['millrace_id']]).toEqual([id, id, id]);
        expect([(apns['aps'] as { alert: { body: string } }).alert.body, notification['body'], web['body']]).toEqual([
          body,
          body,
          body,
        ]);
        if (deepLink !== null) {
          expect([apns['deep_linking_url'], data['deep_linking_url'], web['deep_linking_url']]).toEqual([
            deepLink,
            deepLink,
            deepLink,
          ]);
        }
      }),
    );
  });

  it("has its own sound on iOS alone, the system's elsewhere, and none where it is silent", () => {
    fc.assert(
      fc.property(messages, (message) => {
        const sounds = [
          (JSON.parse(apnsPayload(message)) as { aps: { sound?: string } }).aps.sound,
          (fcmMessage(message, 'android', 'token', 0).android as { notification: { sound?: string } }).notification
            .sound,
          (JSON.parse(webPushPayload(message)) as { sound?: string }).sound,
        ];
        expect(sounds).toEqual(
          message.sound === null ? Array(3).fill(undefined) : [message.sound, 'default', 'default'],
        );
      }),
    );
  });

  it('is as big for FCM as the UTF-8 of its names and values, on each platform', () => {
    fc.assert(
      fc.property(messages, fc.constantFrom(...PUSH_PLATFORMS), (message, platform) => {
        const built = fcmMessage(message, platform, 'token', 0);
        const joined = [built.notification, built.data]
          .flatMap((part) => Object.entries(part))
          .flat()
          .join('');
        expect(fcmBytes(built)).toBe(Buffer.from(joined).length);
      }),
    );
  });

  it('is kept no longer than it says, and by FCM four weeks at most', () => {
    fc.assert(
      fc.property(messages, fc.integer({ min: 0, max: 4_000_000_000_000 }), (message, now) => {
        const { ttlSeconds } = message;
        const { ttl } = fcmMessage(message, 'android', 'token', now).android as { ttl: string };
        expect(ttl).toBe(`${Math.min(ttlSeconds, 28 * 86_400)}s`);
        expect(apnsHeaders(message, now)['apns-expiration']).toBe(
          ttlSeconds === 0 ? '0' : String(Math.floor(now / 1_000) + ttlSeconds),
        );
      }),
    );
  });
});

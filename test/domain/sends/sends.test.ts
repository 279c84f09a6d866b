import { readFile } from 'node:fs/promises';
import fc from 'fast-check';
import { DateTime } from 'luxon';
import { describe, expect, it } from 'vitest';
import { CAMPAIGN_TYPES } from '../../../domain/campaigns/campaign-status.ts';
import { ATTEMPT_CODES, attemptIdOf, messageIdOf, attemptOutcomeOf } from '../../../domain/sends/attempt.ts';
import { decideDevice, type TargetDevice } from '../../../domain/sends/device-decision.ts';
import { explainDevice } from '../../../domain/sends/explain-delivery.ts';
import type { PushOutcome } from '../../../domain/sends/push.ts';
import { endOfQuiet } from '../../../domain/sends/quiet-hours.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const user = fc.constantFrom('ada', 'bob');
const maybe = fc.option(fc.boolean());
const anyDevice: fc.Arbitrary<TargetDevice> = fc.record({
  deviceId: fc.constant('phone'),
  currentUserId: fc.option(user),
  verifiedUserId: fc.option(user),
  isLoggedOut: maybe,
  pushToken: fc.option(fc.constant('token')),
  optIn: maybe,
  optOut: maybe,
  uninstalled: maybe,
});

describe('what a device gets of a message', () => {
  it('is nothing of a message for another user, nor for one that no token vouches for where the app requires it', () => {
    const channels = fc.record({
      type: fc.constantFrom(...CAMPAIGN_TYPES),
      includesPush: fc.boolean(),
      includesInapp: fc.boolean(),
    });
    fc.assert(
      fc.property(anyDevice, fc.option(user), channels, fc.boolean(), (device, userId, campaign, verifiedUsers) => {
        const { push, inapp, code } = decideDevice(device, userId, campaign, { verifiedUsers });
        const { type, includesPush, includesInapp } = campaign;
        // A device on which no user ever logged in or out is reached by campaigns to an audience; one that has no user
        // is the person itself.
        const isLoggedIn =
          device.currentUserId === userId ||
          (device.currentUserId === null && type !== 'transactional' && !device.isLoggedOut);
        const isTheirs = userId === null || (isLoggedIn && (!verifiedUsers || device.verifiedUserId === userId));
        if (!isTheirs) expect({ push, inapp, code }).toMatchObject({ push: false, inapp: false });
        if (push)
          expect([isTheirs, device.pushToken, device.optIn, device.uninstalled ?? false]).toEqual([
            true,
            'token',
            device.optIn ?? null,
            false,
          ]);
        if (device.optOut && type !== 'classic') expect({ push, inapp }).toEqual({ push: false, inapp: false });
        else if (isTheirs && !device.uninstalled) expect(inapp).toBe(includesInapp);
        expect(push).toBe(code === 'PENDING');
        if (!includesPush) expect(push).toBe(false);
        if (!includesInapp) expect(inapp).toBe(false);
      }),
    );
  });
});

describe('why a device gets a message or not', () => {
  it('has a line that stops it exactly if the device gets nothing, and never names another user', () => {
    const campaign = fc.record({
      type: fc.constantFrom(...CAMPAIGN_TYPES),
      status: fc.constant('ongoing' as const),
      skipMessageLimit: fc.boolean(),
      includesPush: fc.boolean(),
      includesInapp: fc.boolean(),
    });
    fc.assert(
      fc.property(
        anyDevice,
        fc.option(user),
        campaign,
        fc.boolean(),
        fc.boolean(),
        (device, userId, asked, verifiedUsers, hasProfileValues) => {
          const { gets, code, lines } = explainDevice(device, userId, asked, { verifiedUsers, hasProfileValues });
          const decision = decideDevice(device, userId, asked, { verifiedUsers, hasProfileValues });
          expect([gets === 'push' || gets === 'both', gets === 'inapp' || gets === 'both', code]).toEqual([
            decision.push,
            decision.inapp,
            decision.code,
          ]);
          const stops = lines.filter(({ result }) => result === 'stops').map(({ check }) => check);
          const isPush = ['permission', 'token'];
          if (decision.push) expect(stops).toEqual([]);
          else if (decision.inapp) expect(stops.every((check) => isPush.includes(check))).toBe(true);
          else if (asked.includesPush || asked.includesInapp) expect(stops).not.toEqual([]);
          expect(lines.some(({ found }) => /ada|bob/.test(found))).toBe(false);
        },
      ),
    );
  });
});

const ZONES = ['UTC', 'Europe/Paris', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Pacific/Chatham'];

describe('quiet hours', () => {
  it("end a message's wait at the first moment outside them, within a day and a clock change", () => {
    const minute = fc.integer({ min: 0, max: 1_439 });
    const moment = fc.date({ min: new Date('2024-01-01'), max: new Date('2026-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(minute, minute, fc.constantFrom(...ZONES), moment, (start, end, timezone, now) => {
        const at = endOfQuiet({ start, end, timezone }, now);
        const minuteOf = (date: Date) => {
          const local = DateTime.fromJSDate(date, { zone: timezone });
          return local.hour * 60 + local.minute;
        };
        const isQuiet = (value: number) =>
          start <= end ? value >= start && value < end : value >= start || value < end;
        if (!isQuiet(minuteOf(now))) expect(at).toEqual(now);
        else {
          expect(at > now && at.getTime() - now.getTime() <= 50 * 3_600_000).toBe(true);
          expect(isQuiet(minuteOf(at))).toBe(false);
        }
      }),
      { numRuns: sampledRuns(2_000) },
    );
  });

  it('go over midnight, and end when they say', () => {
    const quiet = { start: 22 * 60, end: 7 * 60, timezone: 'Europe/Paris' };
    expect(endOfQuiet(quiet, new Date('2026-11-24T23:30:00Z'))).toEqual(new Date('2026-11-25T06:00:00Z'));
    expect(endOfQuiet(quiet, new Date('2026-11-25T03:00:00Z'))).toEqual(new Date('2026-11-25T06:00:00Z'));
    expect(endOfQuiet(quiet, new Date('2026-11-25T06:00:00Z'))).toEqual(new Date('2026-11-25T06:00:00Z'));
    for (const timezone of ['Asia/Kolkata', 'Asia/Calcutta']) {
      expect(endOfQuiet({ ...quiet, timezone }, new Date('2026-11-24T23:30:00Z'))).toEqual(
        new Date('2026-11-25T01:30:00Z'),
      );
    }
  });
});

describe('what a provider answers', () => {
  const now = new Date('2026-11-24T10:00:00Z');
  const outcomes: PushOutcome[] = [
    { kind: 'sent', providerId: 'p' },
    { kind: 'gone', since: null },
    { kind: 'too_big', bytes: 5_000, maxBytes: 4_096 },
    { kind: 'throttled', retryAfterMs: 60_000, scope: 'device' },
    { kind: 'refused', code: 'BAD', reason: 'no' },
    { kind: 'not_sent', reason: 'away' },
    { kind: 'unknown', reason: 'broken off' },
  ];

  it('settles a push, or has it wait within its life; one that is over is EXPIRED', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...outcomes),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 604_800 }),
        (outcome, tries, seconds) => {
          const expiresAt = new Date(now.getTime() + seconds * 1_000);
          const { code, dueAt } = attemptOutcomeOf(outcome, { tries, expiresAt, now });
          const isRepeated = outcome.kind === 'throttled' || outcome.kind === 'not_sent';
          expect(dueAt === null).toBe(code !== 'PENDING');
          if (isRepeated)
            expect(dueAt === null ? code : dueAt > now && dueAt < expiresAt).toBe(dueAt === null ? 'EXPIRED' : true);
          else expect(['PUSH_SENT', 'OPT_OUT', 'MESSAGE_TO_BIG', 'REFUSED', 'UNKNOWN']).toContain(code);
        },
      ),
    );
  });

  it("a device names a message by an id that holds the attempt's number, and no other text is one", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 47 }), (id) => {
        expect(attemptIdOf(messageIdOf(id))).toBe(id);
      }),
    );
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.uuid({ version: 4 })), (text) => {
        expect(attemptIdOf(text)).toBeNull();
      }),
    );
  });
});

it('the codes of results are those of the page about messages, in its words', async () => {
  const page = await readFile(new URL('../../../docs/transactional-messages.md', import.meta.url), 'utf8');
  const [, table = ''] = /\| code \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)/.exec(page) ?? [];
  const rows = table
    .trim()
    .split('\n')
    .map((row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  expect(Object.fromEntries(rows)).toEqual(ATTEMPT_CODES);
});

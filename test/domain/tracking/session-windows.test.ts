import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { placeCalls, reachOf, type SessionWindow, type TimedCall } from '../../../domain/tracking/session-windows.ts';

const TIMEOUT = 120;
const START = Date.UTC(2026, 10, 3, 10);

function at(seconds: number, transition: TimedCall['transition'] = null): TimedCall {
  return { happenedAt: START + seconds * 1000, transition };
}

function known(id: number, from: number, to: number, backgroundedAt: number | null = null): SessionWindow {
  return {
    id,
    startedAt: START + from * 1000,
    endedAt: START + to * 1000,
    backgroundSeconds: 0,
    backgroundedAt: backgroundedAt === null ? null : START + backgroundedAt * 1000,
  };
}

/** As seconds since the start: [id, from, to, background]. */
function shown(sessions: readonly SessionWindow[]) {
  return sessions.map(({ id, startedAt, endedAt, backgroundSeconds }) => [
    id,
    (startedAt - START) / 1000,
    (endedAt - START) / 1000,
    backgroundSeconds,
  ]);
}

describe('sessions', () => {
  it.each([
    ['one call makes one', [], [at(0)], [[null, 0, 0, 0]]],
    ['a call at the timeout goes on with it', [], [at(0), at(120)], [[null, 0, 120, 0]]],
    [
      'a call beyond the timeout begins another',
      [],
      [at(0), at(120.001)],
      [
        [null, 0, 0, 0],
        [null, 120.001, 120.001, 0],
      ],
    ],
    ['the latest session goes on', [known(7, 0, 60)], [at(100)], [[7, 0, 100, 0]]],
    ['a late call within one belongs to it', [known(7, 0, 60)], [at(30)], [[7, 0, 60, 0]]],
    ['a late call shortly before one makes it begin earlier', [known(7, 0, 60)], [at(-120)], [[7, -120, 60, 0]]],
    [
      'a late call long before one is its own',
      [known(7, 0, 60)],
      [at(-121)],
      [
        [null, -121, -121, 0],
        [7, 0, 60, 0],
      ],
    ],
    [
      'a late call between two joins the earlier',
      [known(7, 0, 60), known(8, 200, 260)],
      [at(170)],
      [
        [7, 0, 170, 0],
        [8, 200, 260, 0],
      ],
    ],
    [
      'a late call near the later alone joins that',
      [known(7, 0, 60), known(8, 300, 360)],
      [at(190)],
      [
        [7, 0, 60, 0],
        [8, 190, 360, 0],
      ],
    ],
    [
      'two whose gap a late call closes stay two',
      [known(7, 0, 60), known(8, 200, 260)],
      [at(170), at(190)],
      [
        [7, 0, 190, 0],
        [8, 200, 260, 0],
      ],
    ],
    [
      'none lasts longer than a day',
      [known(7, 0, 86_340)],
      [at(86_400), at(86_401)],
      [
        [7, 0, 86_400, 0],
        [null, 86_401, 86_401, 0],
      ],
    ],
    [
      'none lasts longer than a day backwards',
      [known(7, 0, 86_390)],
      [at(-11), at(-10)],
      [
        [null, -11, -10, 0],
        [7, 0, 86_390, 0],
      ],
    ],
    [
      'the background lasts until the next call',
      [],
      [at(0), at(10, 'background'), at(70, 'foreground'), at(80)],
      [[null, 0, 80, 60]],
    ],
    [
      'a session that ends in the background counts none of it',
      [],
      [at(0), at(10, 'background'), at(500)],
      [
        [null, 0, 10, 0],
        [null, 500, 500, 0],
      ],
    ],
    ['the background goes on from batch to batch', [known(7, 0, 10, 10)], [at(60)], [[7, 0, 60, 50]]],
    ['a late call does not end the background', [known(7, 0, 10, 10)], [at(5), at(60)], [[7, 0, 60, 50]]],
    ['a late background transition begins none', [known(7, 0, 60)], [at(30, 'background'), at(70)], [[7, 0, 70, 0]]],
    [
      'twice in the background counts both',
      [],
      [at(0, 'background'), at(20, 'background'), at(50)],
      [[null, 0, 50, 50]],
    ],
  ] satisfies [string, SessionWindow[], TimedCall[], unknown[]][])('%s', (_, before, calls, after) => {
    expect(shown(placeCalls(before, calls, TIMEOUT).sessions)).toEqual(after);
  });
});

const transition = fc.constantFrom<TimedCall['transition']>(null, null, 'background', 'foreground');
const gapMs = fc.oneof(fc.nat(400_000), fc.nat(2_000), fc.constant(120_000));
const calls = fc.array(fc.record({ gapMs, transition }), { minLength: 1, maxLength: 60 }).map((given) => {
  let happenedAt = START;
  return given.map((call) => ({ happenedAt: (happenedAt += call.gapMs), transition: call.transition }));
});
const timeout = fc.integer({ min: 15, max: 3600 });

describe('whatever calls come', () => {
  it('in order, they come to the same sessions however they are cut into batches', () => {
    fc.assert(
      fc.property(calls, timeout, fc.array(fc.nat(60)), (given, seconds, cuts) => {
        const edges = [...new Set([0, ...cuts.filter((cut) => cut < given.length), given.length])].toSorted(
          (a, b) => a - b,
        );
        const done: SessionWindow[] = [];
        for (const [place, from] of edges.slice(0, -1).entries()) {
          const head = done.pop();
          const { sessions } = placeCalls(head ? [head] : [], given.slice(from, edges[place + 1]), seconds);
          done.push(...sessions);
        }
        expect(done).toEqual(placeCalls([], given, seconds).sessions);
      }),
    );
  });

  it('in any order, each lies in a session that it reaches, and sessions neither overlap nor last over a day', () => {
    const moments = fc.array(fc.record({ happenedAt: fc.nat(200_000_000).map((ms) => START + ms), transition }), {
      maxLength: 80,
    });
    fc.assert(
      fc.property(moments, moments, timeout, (first, second, seconds) => {
        const inOrder = (given: TimedCall[]) => given.toSorted((a, b) => a.happenedAt - b.happenedAt);
        const before = placeCalls([], inOrder(first), seconds).sessions;
        const { sessions, ofCalls } = placeCalls(before, inOrder(second), seconds);
        for (const [place, call] of inOrder(second).entries()) {
          const { startedAt, endedAt } = ofCalls[place]!;
          expect(sessions).toContain(ofCalls[place]);
          expect(call.happenedAt >= startedAt && call.happenedAt <= endedAt).toBe(true);
        }
        for (const [place, { startedAt, endedAt, backgroundSeconds }] of sessions.entries()) {
          expect(endedAt - startedAt).toBeLessThanOrEqual(24 * 3600 * 1000);
          expect(backgroundSeconds * 1000).toBeLessThanOrEqual(endedAt - startedAt);
          if (place > 0) expect(startedAt).toBeGreaterThan(sessions[place - 1]!.endedAt);
        }
      }),
    );
  });

  it('those that a late call may fall into begin within its reach', () => {
    fc.assert(
      fc.property(calls, fc.integer({ min: -100_000, max: 10_000_000 }), timeout, (given, offset, seconds) => {
        const all = placeCalls([], given, seconds).sessions.map((session, id) => ({ ...session, id }));
        const late = { happenedAt: START + offset, transition: null };
        const { from, to } = reachOf(late.happenedAt, seconds);
        const reached = all.filter(({ startedAt }) => startedAt >= from && startedAt <= to);
        expect(placeCalls(reached, [late], seconds).ofCalls).toEqual(placeCalls(all, [late], seconds).ofCalls);
      }),
    );
  });
});

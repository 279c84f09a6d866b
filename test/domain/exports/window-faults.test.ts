import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { windowFaults } from '../../../domain/exports/window-faults.ts';

const day = (nth: number) => new Date(Date.UTC(2026, 10, nth));
const window = (start: number | null, end: number) => ({ start: start === null ? null : day(start), end: day(end) });
const windows = fc
  .array(fc.tuple(fc.option(fc.nat(20), { freq: 8 }), fc.nat(20)), { maxLength: 8 })
  .map((pairs) => pairs.map(([start, end]) => window(start, end)));
const bounds = fc.record({ from: fc.nat(20).map(day), to: fc.nat(20).map(day) }, { requiredKeys: [] });

/** How many windows have each of the days, counted one by one. */
const timesOf = (spans: ReturnType<typeof window>[], at: number) =>
  spans.filter(
    ({ start, end }) => (start === null || start.getTime() <= day(at).getTime()) && day(at).getTime() < end.getTime(),
  ).length;

describe('a chain of windows', () => {
  it('without gaps is whole, in whatever order they come', () => {
    const chain = [window(null, 3), window(3, 4), window(4, 9)];
    expect(windowFaults(chain)).toEqual([]);
    expect(windowFaults(chain.toReversed(), { from: day(1), to: day(9) })).toEqual([]);
    expect(windowFaults([])).toEqual([]);
  });

  it('shows what it leaves out and what it has twice', () => {
    expect(windowFaults([window(2, 4), window(6, 8), window(7, 9)])).toEqual([
      { kind: 'gap', start: day(4), end: day(6) },
      { kind: 'overlap', start: day(7), end: day(8) },
    ]);
    expect(windowFaults([window(null, 4), window(null, 5)])).toEqual([{ kind: 'overlap', start: null, end: day(4) }]);
  });

  it('is measured at its ends only where it is asked for', () => {
    expect(windowFaults([window(3, 4)], { from: day(2), to: day(6) })).toEqual([
      { kind: 'gap', start: day(2), end: day(3) },
      { kind: 'gap', start: day(4), end: day(6) },
    ]);
    expect(windowFaults([], { from: day(2), to: day(3) })).toEqual([{ kind: 'gap', start: day(2), end: day(3) }]);
    expect(windowFaults([window(1, 9)], { from: day(3), to: day(4) })).toEqual([]);
  });

  it('has a gap at just the days that no window has, and an overlap at those that more than one has', () => {
    fc.assert(
      fc.property(windows, bounds, (spans, { from, to }) => {
        const faults = windowFaults(spans, { ...(from ? { from } : {}), ...(to ? { to } : {}) });
        const real = spans.filter(({ start, end }) => start === null || start.getTime() < end.getTime());
        const starts = real.map(({ start }) => start?.getTime() ?? -Infinity);
        const first = from?.getTime() ?? Math.min(...starts);
        const last = to?.getTime() ?? Math.max(...real.map(({ end }) => end.getTime()));
        for (let at = 0; at < 21; at += 1) {
          const isAsked = first <= day(at).getTime() && day(at).getTime() < last;
          const kinds = faults
            .filter(
              ({ start, end }) =>
                (start?.getTime() ?? -Infinity) <= day(at).getTime() && day(at).getTime() < end.getTime(),
            )
            .map(({ kind }) => kind);
          // Within the bounds alone: windows that lie beyond them say nothing about the time between.
          const times = isAsked ? timesOf(real, at) : 1;
          expect([...new Set(kinds)]).toEqual(times === 0 ? ['gap'] : times > 1 ? ['overlap'] : []);
        }
      }),
    );
  });
});

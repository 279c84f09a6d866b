import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ACTIONS,
  applySetOperations,
  type SetOperation,
  type StoredElement,
} from '../../../domain/attributes/set-actions.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

const NOW = 'now';
const numbered = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `e${from + i}`);

// Blocks of the element names e0 to e1199: stored Sets and operations large enough to meet the limit often.
const block = fc
  .tuple(fc.constantFrom(0, 1, 500, 900, 998, 1000), fc.constantFrom(0, 1, 2, 100, 500, 999, 1000, 1001))
  .map(([from, length]) => numbered(from, Math.min(from + length, 1200)));
const operation = fc.record({ action: fc.constantFrom(...ACTIONS), elements: block });
const stored = block.map((elements) => elements.slice(0, 1000).map((element) => ({ element, since: 'then' })));

/** One element at a time, on plain lists. */
function model(before: StoredElement[], operations: SetOperation[]) {
  let elements = before;
  const failed: number[] = [];
  for (const { action, elements: given, line } of operations) {
    const distinct = given.filter((element, i) => given.indexOf(element) === i);
    const kept = elements.filter(({ element }) => {
      if (action === 'DEL') return false;
      if (action === 'REMOVE') return !distinct.includes(element);
      return action === 'ADD' || distinct.includes(element);
    });
    const added =
      action === 'ADD' || action === 'UPSERT'
        ? distinct.filter((name) => !elements.some(({ element }) => element === name))
        : [];
    if (kept.length + added.length > 1000) failed.push(line);
    else elements = [...kept, ...added.map((element) => ({ element, since: NOW }))];
  }
  return { elements, failed };
}

describe('operations on a Set', () => {
  test('come out as in a plain model, in the order of the file', () => {
    fc.assert(
      fc.property(stored, fc.array(operation, { maxLength: 6 }), (elements, actions) => {
        const operations = actions.map((action, i) => ({ ...action, line: i + 2 }));
        const expected = model(elements, operations);
        const outcome = applySetOperations(elements, operations, NOW);
        expect(outcome.elements).toEqual(expected.elements);
        expect(outcome.failures.map(({ line }) => line)).toEqual(expected.failed);
        const isSame =
          elements.length === expected.elements.length && expected.elements.every(({ since }) => since !== NOW);
        expect(outcome.changed).toBe(!isSame);
      }),
      { numRuns: sampledRuns(200) },
    );
  });

  test('come out the same however they are spread over batches', () => {
    fc.assert(
      fc.property(stored, fc.array(operation, { maxLength: 6 }), fc.nat({ max: 6 }), (elements, actions, cut) => {
        const operations = actions.map((action, i) => ({ ...action, line: i + 2 }));
        const once = applySetOperations(elements, operations, NOW);
        const first = applySetOperations(elements, operations.slice(0, cut), NOW);
        const second = applySetOperations(first.elements, operations.slice(cut), NOW);
        expect(second.elements).toEqual(once.elements);
        expect([...first.failures, ...second.failures]).toEqual(once.failures);
      }),
      { numRuns: sampledRuns(200) },
    );
  });

  test('fail alone and as a whole beyond 1,000 elements, and those already there do not count', () => {
    const full = numbered(0, 999).map((element) => ({ element, since: 1 }));
    const { elements, failures } = applySetOperations(
      full,
      [
        { action: 'ADD', elements: ['x', 'y'], line: 2 },
        { action: 'ADD', elements: ['e0', 'x', 'x'], line: 3 },
        { action: 'ADD', elements: ['e0', 'x'], line: 4 },
        { action: 'ADD', elements: ['y'], line: 5 },
      ],
      2,
    );
    expect(elements).toEqual([...full, { element: 'x', since: 2 }]);
    expect(failures).toEqual(
      [2, 5].map((line) => ({
        line,
        errorType: 'TOO_LONG_SET_SIZE',
        message: expect.stringContaining('1000'),
      })),
    );
  });

  test('fail as a whole for an UPSERT of too many', () => {
    const tags = [{ element: 'a', since: 1 }];
    const outcome = applySetOperations(tags, [{ action: 'UPSERT', elements: numbered(0, 1001), line: 2 }], 2);
    expect(outcome).toMatchObject({ elements: tags, changed: false, failures: [{ line: 2 }] });
  });

  test('leave the times of what stays, and say when nothing changed', () => {
    const tags = [
      { element: 'a', since: 1 },
      { element: 'b', since: 1 },
    ];
    expect(applySetOperations(tags, [{ action: 'UPSERT', elements: ['b', 'c'], line: 2 }], 2)).toEqual({
      elements: [
        { element: 'b', since: 1 },
        { element: 'c', since: 2 },
      ],
      changed: true,
      failures: [],
    });
    for (const action of ['UPSERT', 'ADD'] as const) {
      expect(applySetOperations(tags, [{ action, elements: ['b', 'a'], line: 2 }], 2)).toEqual({
        elements: tags,
        changed: false,
        failures: [],
      });
    }
    expect(applySetOperations(tags, [{ action: 'REMOVE', elements: ['c'], line: 2 }], 2).changed).toBe(false);
    expect(applySetOperations([], [{ action: 'DEL', elements: [], line: 2 }], 2).changed).toBe(false);
  });
});

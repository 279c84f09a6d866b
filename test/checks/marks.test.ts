import { describe, expect, test } from 'vitest';
import { marksIn, unproven } from '../../checks/marks.ts';

describe('the marks of a fixture', () => {
  test('name each rule that its file breaks', () => {
    const content =
      'debugger; // breaks no-debugger\nlet a: any; // breaks typescript/no-explicit-any\n// nothing here\n';
    expect(marksIn('store/a.ts', content)).toEqual([
      { rule: 'no-debugger', file: 'store/a.ts' },
      { rule: 'typescript/no-explicit-any', file: 'store/a.ts' },
    ]);
  });
});

describe('a check is unproven', () => {
  const broken = { rule: 'no-var', file: 'store/no-var.ts' };

  test('never, when each rule is broken and found', () => {
    expect(unproven(['no-var'], [broken], [broken, broken])).toEqual([]);
  });

  test('when a fixture passes, or was not looked at', () => {
    expect(unproven(['no-var'], [broken], [])).toEqual(['not found: no-var in store/no-var.ts']);
    expect(unproven(['no-var'], [broken], [{ ...broken, file: 'store/other.ts' }])).toContain(
      'not found: no-var in store/no-var.ts',
    );
  });

  test('when a fixture fails for another reason than its own', () => {
    const other = { ...broken, rule: 'prefer-const' };
    expect(unproven(['no-var'], [broken], [other, broken])).toEqual([
      'found without a mark: prefer-const in store/no-var.ts',
    ]);
  });

  test('when no fixture breaks a rule', () => {
    expect(unproven(['no-var', 'eqeqeq'], [broken], [broken])).toEqual(['no fixture breaks eqeqeq']);
  });
});

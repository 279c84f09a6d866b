import { describe, expect, it } from 'vitest';
import { countDeaths, judgeAttempt, type NotedAttempt } from '../../../domain/jobs/step-attempts.ts';

const noted = (change: Partial<NotedAttempt> = {}): NotedAttempt => ({
  attempt: 2,
  process: 7,
  isAlone: false,
  progress: 'a',
  deaths: 1,
  ...change,
});
const begun = { attempt: 3, progress: 'a', hasDied: true };

describe('deaths of a step', () => {
  it('are counted in a row: the first of one without a note', () => {
    expect(countDeaths(null, { attempt: 2, progress: 'a', hasDied: false })).toBe(1);
    expect(countDeaths(noted(), begun)).toBe(2);
  });

  it('are none if the attempt ended, its process lives, or later ones were not noted', () => {
    expect(countDeaths(noted({ process: null }), { ...begun, hasDied: false })).toBe(1);
    expect(countDeaths(noted(), { ...begun, attempt: 4 })).toBe(1);
    expect(countDeaths(noted({ deaths: 0, progress: null }), { ...begun, hasDied: false })).toBe(0);
    expect(countDeaths(null, begun)).toBe(0);
  });

  it('begin anew once the job is further', () => {
    expect(countDeaths(noted({ deaths: 2 }), { ...begun, progress: 'b' })).toBe(0);
  });

  it('give a step up only if the last attempt ran alone', () => {
    expect(judgeAttempt(noted(), 1, 3)).toBe('runs');
    expect(judgeAttempt(noted({ deaths: 2 }), 2, 3)).toBe('runs alone');
    expect(judgeAttempt(noted({ deaths: 2 }), 3, 3)).toBe('runs alone');
    expect(judgeAttempt(noted({ deaths: 2, isAlone: true }), 3, 3)).toBe('given up');
  });
});

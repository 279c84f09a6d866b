/** Validates input by a schema, and words each error. */
import type { z } from 'zod';
import type { Malformed } from '../../api/core/operation.ts';
import { MAX_FAULTS, refuse } from '../../domain/core/refusal.ts';

type Issue = z.core.$ZodRawIssue;

const EXPECTED: Record<string, string> = { record: 'object' };

function sayIssue(issue: Issue): string {
  if (issue.code === 'invalid_type') {
    return issue.input === undefined
      ? 'is required'
      : `must be ${withArticle(EXPECTED[issue.expected] ?? issue.expected)}`;
  }
  if (issue.code === 'invalid_value') {
    if (issue.input === undefined) return 'is required';
    return `must be one of ${issue.values.filter((value) => value !== '').join(', ')}`;
  }
  if (issue.code === 'unrecognized_keys') return 'is unknown';
  if (issue.code === 'too_small') {
    return issue.origin === 'array' && issue.minimum === 1
      ? 'must not be empty'
      : `must have at least ${issue.minimum}`;
  }
  if (issue.code === 'too_big') return `must have at most ${issue.maximum}`;
  return issue.input === undefined ? 'is required' : 'is not valid';
}

function withArticle(expected: string): string {
  return /^[aeiou]/.test(expected) ? `an ${expected}` : `a ${expected}`;
}

/** Returns the parsed input. Refuses with 400 and each field's path. `malformed`: what the reference has instead. */
export function validate<S extends z.ZodType>(
  schema: S,
  input: unknown,
  whole: string,
  malformed?: Malformed,
): z.output<S> {
  const outcome = schema.safeParse(input, { error: sayIssue });
  if (outcome.success) return outcome.data;
  const messages = outcome.error.issues.slice(0, MAX_FAULTS).map((issue) => {
    const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0]!] : issue.path;
    return { element: path.length === 0 ? whole : path.join('.'), severity: 'error' as const, message: issue.message };
  });
  const errors = messages.map(({ element, message }) => `${element}: ${message}`);
  const extra = { messages, errors };
  const known =
    malformed &&
    messages
      .map(({ element }) => (element === whole ? whole : element.split('.')[0]!))
      .find((element) => element === whole || malformed.elements.includes(element));
  if (malformed && known !== undefined) {
    const { status, message } = malformed;
    return refuse(400, status, typeof message === 'string' ? message : message(known), extra);
  }
  return refuse(400, 'bad_request', errors[0]!, extra);
}

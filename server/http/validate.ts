import { z } from 'zod';
import type { Malformed, Operation } from '../../api/core/operation.ts';
import { MAX_FAULTS, refuse, refuseFields } from '../../domain/core/refusal.ts';
import { misspeltName } from '../../domain/core/say-unknown.ts';

type Issue = z.core.$ZodRawIssue;

/** What JSON calls it. */
const EXPECTED: Record<string, string> = { record: 'object' };

/** What the words after a field's name say, where its schema has none of its own. */
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

/**
 * The input as the schema reads it, or a 400 `bad_request` that names each field at fault by its dotted path;
 * `whole` names the input itself. `malformed` gives status and message where the reference has them.
 */
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

/**
 * Refuses a name that is probably a misspelling of one that the operation takes: ignored, `user_id` for `user_ids`
 * would list everybody, and `dryrun` for `dry_run` would import. Any other unknown name is ignored. A body may have
 * what the result has: callers send back what they have read. SDKs and browsers send more than is asked for, so calls
 * of theirs are left alone.
 */
export function refuseMisspelt(
  { auth, result, ...operation }: Operation,
  part: 'query' | 'body',
  given: unknown,
): void {
  const schema = operation[part];
  if (
    auth === 'app_key' ||
    auth === 'none' ||
    !(schema instanceof z.ZodObject) ||
    typeof given !== 'object' ||
    given === null
  )
    return;
  const known = Object.keys(schema.shape);
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(schema.shape, name));
  if (unknown.length === 0) return;
  const shown = part === 'body' && result ? namesIn(result) : [];
  const misspelt = unknown
    .filter((name) => !shown.includes(name))
    .slice(0, MAX_COMPARED)
    .map((name) => ({ element: name, meant: misspeltName(name, known) }))
    .filter(({ meant }) => meant !== null);
  refuseFields(
    misspelt
      .slice(0, MAX_FAULTS)
      .map(({ element, meant }) => ({ element, message: `is unknown: did you mean ${meant}?` })),
  );
}

/** More unknown names are no misspellings, and each costs a comparison with all known ones. */
const MAX_COMPARED = 100;

/** Names of the members of a result, and of the records in it. */
function namesIn(schema: z.ZodType): string[] {
  if (schema instanceof z.ZodArray) return namesIn(schema.element as z.ZodType);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([name, member]) => [name, ...namesIn(member as z.ZodType)]);
}

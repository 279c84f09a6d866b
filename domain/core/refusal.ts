/** Refusals: the one way to reject what a caller asks for. */

/** Marks a refusal as a wait that was planned, such as for a quota. Being a symbol, it is never sent. */
export const PLANNED_WAIT = Symbol('planned wait');

/** Optional members of an error body (reference: Errors, 2). */
export type RefusalExtra = {
  [PLANNED_WAIT]?: true;
  messages?: { element: string; severity: 'error'; message: string }[];
  errors?: string[];
  [member: string]: unknown;
};

/** Rejects a request. A worker's non-retryable failure carries only `status`: the text stays out of Temporal. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly http: number;
  readonly status: string | number;
  readonly extra: RefusalExtra;

  constructor(http: number, status: string | number, message: string, extra: RefusalExtra = {}) {
    super(message);
    this.http = http;
    this.status = status;
    this.extra = extra;
  }
}

/** Refuses with an HTTP status, the body's own `status` (the reference has both) and a message that says what to do. */
export function refuse(http: number, status: string | number, message: string, extra?: RefusalExtra): never {
  throw new Refusal(http, status, message, extra);
}

/** Maximum number of faults in one answer. A check that has found as many may stop. */
export const MAX_FAULTS = 50;

/** A fault of an input field; `element` is its wire name. */
export type FieldError = { element: string; message: string };

/** Refuses one input field with 400 `bad_request`; `element` is its wire name. */
export function refuseField(element: string, message: string): never {
  return refuseAll({ element, message }, [{ element, message }]);
}

/** Refuses these fields in one answer, the first 50. Does nothing if there are none. */
export function refuseFields(errors: readonly FieldError[]): void {
  const [first] = errors;
  if (first) refuseAll(first, errors.slice(0, MAX_FAULTS));
}

/** Returns what `read` returns; if it refuses fields, adds them to the errors and returns null. */
export async function collectErrors<T>(errors: FieldError[], read: () => T | Promise<T>): Promise<T | null> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof Refusal) || error.extra.messages === undefined) throw error;
    errors.push(...error.extra.messages);
    return null;
  }
}

function refuseAll(first: FieldError, errors: readonly FieldError[]): never {
  return refuse(400, 'bad_request', `${first.element}: ${first.message}`, {
    messages: errors.map(({ element, message }) => ({ element, severity: 'error' as const, message })),
    errors: errors.map(({ element, message }) => `${element}: ${message}`),
  });
}

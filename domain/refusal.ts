/** Members of an error body beside `success`, `status` and the message (reference: Errors, 2). */
export type RefusalExtra = {
  messages?: { element: string; severity: 'error'; message: string }[];
  errors?: string[];
  [member: string]: unknown;
};

/**
 * The one way to say no. The server turns it into HTTP status and body, a worker into a
 * non-retryable failure that carries only `status`: the text stays out of Temporal.
 */
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

/** Refuses with an HTTP status, the body's own `status` (they differ in places of the reference) and what to do. */
export function refuse(http: number, status: string | number, message: string, extra?: RefusalExtra): never {
  throw new Refusal(http, status, message, extra);
}

/** Refuses one input field with 400 `bad_request`; `element` is the field's wire name. */
export function refuseField(element: string, message: string): never {
  return refuse(400, 'bad_request', `${element}: ${message}`, {
    messages: [{ element, severity: 'error', message }],
    errors: [`${element}: ${message}`],
  });
}

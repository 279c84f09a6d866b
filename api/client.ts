/** A client of the interface: a function for each operation returns `result`, or throws the server's `Refusal`. */
import type { z } from 'zod';
import { Refusal, type RefusalExtra, refuse } from '../domain/core/refusal.ts';
import { type CalledOperation, isLook } from './core/called-operation.ts';
import { CALLED_OPERATIONS } from './core/called-operations.ts';
import { type Operation, takesIdempotencyKey } from './core/operation.ts';
import type * as contract from './operations.ts';

export { Refusal };
export type * from './operations.ts';

export type ClientOptions = {
  url: string;
  /** Token of a login, or a service token. Operations without other credentials need one. */
  token?: string | undefined;
  /** By default 3, which includes everything in 2. */
  version?: 2 | 3;
  explain?: ((refusal: Refusal) => string) | undefined;
  /** Headers of every request. */
  headers?: () => Readonly<Record<string, string>>;
  /** A read that may write into the audit log is sent again only if the server refused to execute it. */
  looksOnce?: boolean;
  /** Sends each request in the place of `fetch`. */
  fetch?: (url: URL, request: RequestInit) => Promise<Response>;
  /** Hears of each wait before a request is sent again. */
  onWait?: (ms: number, refusal: Refusal) => void;
};

export type CallOptions = {
  /** Key of a POST; by default a new one for each call. The server executes requests with the same key once. */
  idempotencyKey?: string;
  signal?: AbortSignal;
  headers?: Readonly<Record<string, string>>;
  /** Gets the headers of a response that is no refusal. */
  onHeaders?: (headers: Headers) => void;
};

/** `status` of a Refusal: the connection failed before the response began, or during the response. */
export const UNREACHABLE = 'unreachable';
export const BROKEN_OFF = 'broken_off';
export const BAD_URL = 'bad_url';
export const NOT_SENT = 'not_sent';

type Contract = typeof contract;
export type OperationName = { [K in keyof Contract]: Contract[K] extends Operation ? K : never }[keyof Contract];

type QueryValue = string | number | boolean | Date | readonly (string | number)[] | undefined;
type QueryOf<T> = { [K in keyof T]: QueryValue };
type PathOf<T> = { [K in keyof T]: string | number };
// A part without members is absent; a part without required members is optional.
type Part<Name extends string, T> = unknown extends T
  ? { [K in Name]: T }
  : [keyof T] extends [never]
    ? unknown
    : Record<never, never> extends T
      ? { [K in Name]?: T }
      : { [K in Name]: T };

/** The input of an operation. An operation with an upload takes a `file`, and its fields as `body`. */
export type InputOf<O> =
  O extends Operation<infer P, infer Q, infer B>
    ? Part<'params', PathOf<z.input<P>>> &
        Part<'query', QueryOf<z.input<Q>>> &
        Part<'body', z.input<B>> & { file?: Blob }
    : never;
export type ResultOf<O> =
  O extends Operation<z.ZodObject, z.ZodObject, z.ZodType, infer R>
    ? [R] extends [z.ZodNever]
      ? void
      : z.output<R>
    : never;
export type BodyOf<Name extends OperationName> =
  Contract[Name] extends Operation<z.ZodObject, z.ZodObject, infer B> ? z.input<B> : never;
type ItemOf<R> = R extends { items: readonly (infer T)[] }
  ? T
  : R extends { next: string | null }
    ? { [K in keyof R]-?: R[K] extends readonly (infer T)[] ? T : never }[keyof R]
    : never;
type Arguments<O> =
  Record<never, never> extends InputOf<O>
    ? [input?: InputOf<O>, options?: CallOptions]
    : [input: InputOf<O>, options?: CallOptions];

type Calls = { [K in OperationName]: (...given: Arguments<Contract[K]>) => Promise<ResultOf<Contract[K]>> };
type Lists = {
  [K in OperationName as [ItemOf<ResultOf<Contract[K]>>] extends [never] ? never : K]: (
    ...given: Arguments<Contract[K]>
  ) => AsyncGenerator<ItemOf<ResultOf<Contract[K]>>, void, undefined>;
};
type Streams = { [K in OperationName]: (...given: Arguments<Contract[K]>) => Promise<AsyncIterable<Uint8Array>> };

export type Client = Calls & {
  each: Lists;
  /** Streams the body of a response: for files, and for lists that may not fit into memory. */
  stream: Streams;
};

type Input = {
  params?: Record<string, string | number>;
  query?: Record<string, QueryValue>;
  body?: unknown;
  file?: Blob;
};
type Request = {
  path: string;
  method: string;
  headers: Record<string, string>;
  body?: string | FormData;
  signal?: AbortSignal;
  isLook: boolean;
  onHeaders?: (headers: Headers) => void;
};
type Envelope = {
  success?: boolean;
  result?: unknown;
  status?: string | number;
  error_message?: string;
  retry_after?: number;
  messages?: RefusalExtra['messages'];
  errors?: string[];
  /** Author and time of the change before one that came too late. */
  changed_by?: string | null;
  changed_at?: string;
};

const MAX_TRIES = 3;
const RETRY_MS = 300;
/** The client does not retry a refusal that asks for a longer wait. */
const MAX_WAIT_SECONDS = 60;
const ACCEPT = { 2: 'application/json', 3: 'application/vnd.svc.v3, application/json' };

export function createClient(options: ClientOptions): Client {
  const connection = new Connection(options);
  const client = { each: {}, stream: {} } as Record<'each' | 'stream', Record<string, unknown>> &
    Record<string, unknown>;
  for (const operation of CALLED_OPERATIONS) {
    const { id: name } = operation;
    client[name] = (input?: Input, call?: CallOptions) => connection.call(operation, input, call);
    client.each[name] = (input?: Input, call?: CallOptions) => connection.each(operation, input, call);
    client.stream[name] = (input?: Input, call?: CallOptions) => connection.stream(operation, input, call);
  }
  return client as unknown as Client;
}

class Connection {
  readonly #options: ClientOptions;

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  async call(operation: CalledOperation, input: Input = {}, options: CallOptions = {}): Promise<unknown> {
    if (operation.contentType)
      throw new TypeError(`${operation.id} answers with a file: call client.stream.${operation.id}`);
    const request = requestOf(operation, input, options, this.#headers(operation));
    return this.#answer(operation, request);
  }

  async *each(operation: CalledOperation, input: Input = {}, options: CallOptions = {}): AsyncGenerator<unknown> {
    const request = requestOf(operation, input, options, this.#headers(operation));
    const [pathname] = request.path.split('?') as [string];
    for (let next: string | null = request.path; next !== null;) {
      const page = (await this.#answer(operation, { ...request, path: next })) as Page;
      yield* 'items' in page ? page.items : (Object.values(page).find(Array.isArray) ?? []);
      const link = 'items' in page ? page.navigation.next : page.next;
      // The link has the server's public path, which may differ from the path that this client uses.
      next = link === null ? null : pathname + new URL(link).search;
    }
  }

  async stream(
    operation: CalledOperation,
    input: Input = {},
    options: CallOptions = {},
  ): Promise<AsyncIterable<Uint8Array>> {
    const request = requestOf(operation, input, options, this.#headers(operation));
    const reply = await this.#withRetries(request, async () => {
      const answered = await this.#send(request);
      return answered.ok ? answered : this.#refuseReply(answered, await this.#read(answered));
    });
    return this.#wholeBody(reply, options.signal);
  }

  #answer(operation: CalledOperation, request: Request): Promise<unknown> {
    return this.#withRetries(request, async () => {
      const reply = await this.#send(request);
      if (reply.ok) request.onHeaders?.(reply.headers);
      if (reply.status === 204) return undefined;
      const envelope = await this.#read(reply);
      const hasResult = reply.ok || (operation.isProbe && envelope?.error_message === undefined);
      if (hasResult && operation.bare && envelope !== null) return envelope;
      return reply.ok && envelope?.success ? envelope.result : this.#refuseReply(reply, envelope);
    });
  }

  /** Retries repeatable requests: after connection failures, and after refusals that name a time to wait. */
  async #withRetries<T>(request: Request, attempt: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        const waitMs = tries < MAX_TRIES ? this.#waitBeforeNext(error, request, tries) : null;
        if (waitMs === null) throw this.#explained(error);
        this.#options.onWait?.(waitMs, error);
        await delay(waitMs, request.signal);
      }
    }
  }

  /** Returns milliseconds; null if the request is not sent again. */
  #waitBeforeNext(
    { http, status, extra: { retry_after: seconds } }: Refusal,
    { method, headers, isLook }: Request,
    tries: number,
  ): number | null {
    const isRepeatable = method === 'GET' ? !(isLook && this.#options.looksOnce) : 'idempotency-key' in headers;
    if (status === UNREACHABLE || status === BROKEN_OFF) return isRepeatable ? RETRY_MS * tries : null;
    // The server did not execute a request beyond its limit.
    if (!isRepeatable && http !== 429) return null;
    return typeof seconds === 'number' && seconds <= MAX_WAIT_SECONDS ? seconds * 1_000 : null;
  }

  #explained(error: Refusal): Refusal {
    const { explain } = this.#options;
    return explain ? new Refusal(error.http, error.status, explain(error), error.extra) : error;
  }

  #headers({ auth }: CalledOperation): Record<string, string> {
    const { token, version = 3, headers } = this.#options;
    return {
      accept: ACCEPT[version],
      ...(token && auth === 'token' ? { authorization: `Token ${token}` } : {}),
      ...headers?.(),
    };
  }

  #send({ path, isLook: _isLook, onHeaders: _onHeaders, ...request }: Request): Promise<Response> {
    const { url, token, fetch: send = fetch } = this.#options;
    if (!URL.canParse(path, url))
      return refuse(400, BAD_URL, `${url} is no URL: use one such as http://127.0.0.1:8080`);
    // An error of fetch would contain the token.
    if (token !== undefined && !/^[!-~]*$/.test(token))
      return refuse(400, NOT_SENT, 'The request could not be sent: is the token right?');
    return send(new URL(path, url), request).catch((error: Error) => {
      if (request.signal?.aborted) throw error;
      return refuseUnsent(url, error);
    });
  }

  async #read(reply: Response): Promise<Envelope | null> {
    const text = await reply.text().catch(() => this.#refuseBrokenOff());
    try {
      return parse(text) as Envelope | null;
    } catch {
      return null; // for example a proxy's page
    }
  }

  #refuseReply({ status: http, headers }: Response, envelope: Envelope | null): never {
    const { status = http, error_message: said, messages, errors, changed_by, changed_at } = envelope ?? {};
    const after = headers.get('retry-after');
    const retryAfter = envelope?.retry_after ?? (after !== null && /^\d+$/.test(after) ? Number(after) : undefined);
    const requestId = headers.get('x-request-id');
    return refuse(
      http,
      status,
      said ?? `${this.#options.url} answered ${http}, not as Millrace does: is it something else, or a proxy?`,
      {
        retry_after: retryAfter,
        ...(requestId === null ? {} : { request_id: requestId }),
        ...(messages ? { messages } : {}),
        ...(errors ? { errors } : {}),
        ...(changed_at === undefined ? {} : { changed_by, changed_at }),
      },
    );
  }

  #refuseBrokenOff(): never {
    return refuse(503, BROKEN_OFF, `The connection to ${this.#options.url} broke off: the response is not complete.`);
  }

  async *#wholeBody({ body }: Response, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    try {
      if (body) yield* body as unknown as AsyncIterable<Uint8Array>;
    } catch {
      signal?.throwIfAborted();
      this.#refuseBrokenOff();
    }
  }
}

type Page = { items: unknown[]; navigation: { next: string | null } } | { next: string | null };

function requestOf(
  operation: CalledOperation,
  { params = {}, query = {}, body, file }: Input,
  { signal, idempotencyKey, headers: own, onHeaders }: CallOptions,
  given: Record<string, string>,
): Request {
  const { method, uploadPart } = operation;
  const headers = {
    ...given,
    ...own,
    ...(takesIdempotencyKey(operation) ? { 'idempotency-key': idempotencyKey ?? crypto.randomUUID() } : {}),
  };
  const request: Request = {
    method,
    path: addressOf(operation, { params, query }),
    headers,
    isLook: method === 'GET' && isLook(operation, query),
    ...(signal ? { signal } : {}),
    ...(onHeaders ? { onHeaders } : {}),
  };
  if (file && uploadPart !== undefined)
    return { ...request, body: formOf(body as Record<string, unknown>, uploadPart, file) };
  if (body === undefined) return request;
  return { ...request, body: stringify(body), headers: { ...headers, 'content-type': 'application/json' } };
}

/** Returns path and query of a call. */
export function addressOf(
  operation: CalledOperation,
  { params = {}, query = {} }: Omit<Input, 'body' | 'file'>,
): string {
  const path = operation.path.replaceAll(/:(\w+)/g, (_, name: string) => pathSegment(operation, name, params[name]));
  return path + search(query);
}

/** Refuses a value that would turn the path into another operation's. */
function pathSegment({ id }: CalledOperation, name: string, value: string | number | undefined): string {
  const segment = encodeURIComponent(value ?? '');
  if (/^\.{0,2}$/.test(segment))
    return refuse(400, BAD_URL, `${id}: params.${name} must be given, and be neither . nor ..`);
  return segment;
}

/** Fields come first, so that the server refuses wrong ones before it gets the file. */
function formOf(fields: Record<string, unknown>, part: string, file: Blob): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) form.set(name, typeof value === 'string' ? value : stringify(value));
  }
  form.set(part, file, file instanceof File ? file.name : 'file');
  return form;
}

function search(query: Record<string, QueryValue>): string {
  const pairs = Object.entries(query).flatMap(([name, value]): [string, string][] => {
    if (value === undefined) return [];
    // An empty list must not select everything: the server refuses this form of it.
    if (Array.isArray(value)) return (value.length === 0 ? [''] : value).map((each) => [`${name}[]`, String(each)]);
    return [[name, value instanceof Date ? value.toISOString() : `${value as string | number | boolean}`]];
  });
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`;
}

function delay(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(signal.reason as Error);
      },
      { once: true },
    );
  });
}

/** Shows only the error's cause, if that has a code: the message may hold an address with a password. */
function refuseUnsent(url: string, { cause }: Error): never {
  const { code, message } = (cause ?? {}) as { code?: string; message?: string };
  // Browsers give no cause.
  if (message === undefined) return refuse(503, UNREACHABLE, `${url} does not answer`);
  return refuse(503, code === undefined ? NOT_SENT : UNREACHABLE, `${url} does not answer (${code ?? message})`);
}

const engine = JSON as unknown as {
  rawJSON(text: string): object;
  parse(text: string, reviver: (name: string, value: unknown, context: { source?: string }) => unknown): unknown;
};
/** A text needs this many digits in a row to contain a whole number beyond 2^53. */
const MANY_DIGITS = /\d{16}/;

/** Parses whole numbers beyond 2^53 as bigints. */
export function parse(text: string): unknown {
  if (!MANY_DIGITS.test(text)) return JSON.parse(text);
  return engine.parse(text, (_, value, { source }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source ?? '') ? BigInt(source!) : value,
  );
}

/** Returns JSON of a value that the client returned, with all digits of whole numbers beyond 2^53. */
export function stringify(value: unknown, space?: number): string {
  const exact = (_: string, member: unknown) => (typeof member === 'bigint' ? engine.rawJSON(String(member)) : member);
  return JSON.stringify(value, exact, space);
}

/** The client of this page: calls with the session's cookie, for the entity that the page shows. */
import {
  addressOf,
  createClient,
  type Client,
  type ClientOptions,
  Refusal,
  type OperationName,
} from '../../api/client.ts';
import type { CalledOperation } from '../../api/core/called-operation.ts';
import { CALLED_OPERATIONS } from '../../api/core/called-operations.ts';

export { Refusal };
export type { Client, OperationName };

let shownEntity: string | null = null;
const listeners = new Set<(ms: number) => void>();

/** Names the entity that this tab shows: the server refuses calls of a session that acts in another one by now. */
export function showEntity(identifier: string | null): void {
  shownEntity = identifier;
}

/** Calls `listener` with milliseconds whenever a call waits for the server. */
export function onWait(listener: (ms: number) => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

const OPTIONS: ClientOptions = {
  url: location.origin,
  looksOnce: true,
  headers: () => ({
    'x-millrace-console': '1',
    ...(shownEntity === null ? {} : { 'x-millrace-entity': shownEntity }),
  }),
  onWait: (ms) => listeners.forEach((listener) => listener(ms)),
};

export const api: Client = createClient(OPTIONS);

/** Makes a client whose requests go by `send`. */
export function clientBy(send: NonNullable<ClientOptions['fetch']>): Client {
  return createClient({ ...OPTIONS, fetch: send });
}

/** Marks a call that the person did not ask for: it keeps no session alive. */
export const BACKGROUND = { headers: { 'x-millrace-background': '1' } } as const;

const OPERATIONS: ReadonlyMap<string, CalledOperation> = new Map(CALLED_OPERATIONS.map((each) => [each.id, each]));

export function operationOf(name: OperationName): CalledOperation {
  return OPERATIONS.get(name)!;
}

/** Returns the address of an operation that answers with a file, for a link: the browser streams it. */
export function fileAddress(
  name: OperationName,
  params: Record<string, string> = {},
  query: Record<string, string> = {},
): string {
  return addressOf(operationOf(name), { params, query });
}

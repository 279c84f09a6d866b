/** Calls of operations from pages: reads that are kept and polled, and actions that are sent once. */
import {
  keepPreviousData,
  type Query,
  useInfiniteQuery,
  useMutation,
  useQuery,
  type UseMutationResult,
  type UseQueryResult,
} from '@tanstack/react-query';
import { useRef } from 'react';
import { UNREACHABLE } from '../../api/client.ts';
import { isLook } from '../../api/core/called-operation.ts';
import { api, BACKGROUND, type Client, fileAddress, type OperationName, operationOf, Refusal } from './api.ts';
import { queries, useSession } from './session.tsx';

type Calls = Pick<Client, OperationName>;
export type InputOf<N extends OperationName> = Parameters<Calls[N]>[0];
export type ResultOf<N extends OperationName> = Awaited<ReturnType<Calls[N]>>;

const call = <N extends OperationName>(
  name: N,
  input: InputOf<N>,
  options: object,
  client: Client = api,
): Promise<ResultOf<N>> =>
  (client[name] as (input: InputOf<N>, options: object) => Promise<ResultOf<N>>)(input, options);

export type ReadOptions<R, I = unknown> = {
  /** False: not yet. An audited look begins with a press, for example. */
  isWanted?: boolean;
  /** Asks again, by and by more rarely, for as long as this is true of the result. Not for audited looks. */
  pollWhile?: (result: R) => boolean;
  /** Asks also if the result was read a moment ago. */
  isFresh?: boolean;
  /** The result holds a secret: it goes with the part that shows it. */
  isForgotten?: boolean;
  /** Asks again for what is new alone, and joins it to what is known. */
  follow?: { inputAfter: (known: R) => I; join: (known: R, more: R) => R };
};

/** Reads an operation's result. An audited look is never repeated by itself. */
export function useRead<N extends OperationName>(
  name: N,
  input: InputOf<N>,
  {
    isWanted = true,
    pollWhile,
    isFresh = false,
    isForgotten = false,
    follow,
  }: ReadOptions<ResultOf<N>, InputOf<N>> = {},
): UseQueryResult<ResultOf<N>, Refusal> {
  const { session } = useSession();
  const isAudited = isLookOf(name, input);
  const since = useRef(Date.now());
  const queryKey = [session.entity.identifier, name, input];
  return useQuery<ResultOf<N>, Refusal>({
    queryKey,
    // The page, not the person, asks again for known data.
    queryFn: (context): Promise<ResultOf<N>> => {
      const known = queries.getQueryData<ResultOf<N>>(queryKey);
      const options = { ...signalOf(isAudited, context), ...(known === undefined ? {} : BACKGROUND) };
      if (known === undefined || follow === undefined) return call(name, input, options);
      return call(name, follow.inputAfter(known), options).then((more) => follow.join(known, more));
    },
    enabled: isWanted,
    ...(isForgotten ? { gcTime: 0 } : { placeholderData: keepPreviousData }),
    ...(isFresh ? { refetchOnMount: 'always' } : {}),
    ...(isAudited ? { staleTime: Infinity, refetchOnReconnect: false } : {}),
    refetchInterval: ({ state: { data } }) =>
      !isAudited && data !== undefined && pollWhile?.(data) ? pollMs(Date.now() - since.current) : false,
  });
}

/**
 * Returns the signal that ends a call with its page. An audited look has none: Query cancels calls that take one, and a
 * page that comes back would look a second time.
 */
function signalOf(isAudited: boolean, context: { signal: AbortSignal }): { signal?: AbortSignal } {
  return isAudited ? {} : { signal: context.signal };
}

/** Returns whether a call writes an entry each time. A followed one writes one an hour, and may be repeated. */
function isLookOf(name: OperationName, input: unknown): boolean {
  if (operationOf(name).isFollowed) return false;
  const { query } = (input ?? {}) as { query?: Record<string, unknown> };
  return isLook(operationOf(name), query);
}

/** Every second in the first minute, then every two; after ten minutes every five. Hidden tabs rest. */
function pollMs(sinceMs: number): number {
  if (sinceMs < 60_000) return 1_000;
  return sinceMs < 10 * 60_000 ? 2_000 : 5_000;
}

/** Reads whether Millrace has built the file of a link, until it has. HEAD fetches no file, and writes no entry. */
export function useBuiltFile(link: string): { address: string; result: UseQueryResult<boolean, Refusal> } {
  const { pathname, searchParams } = new URL(link);
  const params = { file_identifier: pathname.split('/').at(-1)! };
  const query = { token: searchParams.get('token') ?? '' };
  const address = fileAddress('downloadFile', params, query);
  const since = useRef(Date.now());
  const result = useQuery<boolean, Refusal>({
    queryKey: ['file', address],
    queryFn: async ({ signal }) => {
      const asked = fetch(address, { ...BACKGROUND, method: 'HEAD', credentials: 'omit', signal });
      const reply = await asked.catch((error: unknown) => {
        throw signal.aborted ? error : new Refusal(503, UNREACHABLE, `${location.origin} does not answer`);
      });
      // A refusal says why in its body alone.
      if (!reply.ok) await api.stream.downloadFile({ params, query }, { ...BACKGROUND, signal });
      return reply.status !== 202;
    },
    refetchInterval: ({ state: { data } }) => (data === false ? pollMs(Date.now() - since.current) : false),
  });
  return { address, result };
}

/** The last part of a list's key in the cache. */
const PAGES = 'pages';
type Pages<N extends OperationName> = { pages: ResultOf<N>[] };

/** Reads a list page after page by `next` of each result. */
export function useList<N extends OperationName>(
  name: N,
  input: InputOf<N>,
  { isWanted = true, pollWhile }: ReadOptions<ResultOf<N>> = {},
) {
  const { session } = useSession();
  const isAudited = isLookOf(name, input);
  const since = useRef(Date.now());
  const queryKey = [session.entity.identifier, name, input, PAGES];
  return useInfiniteQuery<ResultOf<N>, Refusal, Pages<N>, unknown[], string | null>({
    queryKey,
    initialPageParam: null,
    queryFn: (context) => {
      const { pageParam } = context;
      const isKnown = pageParam === null && queries.getQueryData(queryKey) !== undefined;
      return call(name, pageParam === null ? input : ofNextPage(name, input, pageParam), {
        ...signalOf(isAudited, context),
        ...(isKnown ? BACKGROUND : {}),
      });
    },
    getNextPageParam: (last) => nextOf(last),
    enabled: isWanted,
    ...(isAudited ? { staleTime: Infinity, refetchOnReconnect: false } : {}),
    // Beyond its first page a list rests: what is read must not move.
    refetchInterval: ({ state: { data } }) =>
      !isAudited && data?.pages.length === 1 && pollWhile?.(data.pages[0]!)
        ? pollMs(Date.now() - since.current)
        : false,
  });
}

/** Returns the input of the page that `next` names: an address, or the cursor of a list that is asked for by POST. */
function ofNextPage<N extends OperationName>(name: N, input: InputOf<N>, next: string): InputOf<N> {
  const { query, body, ...rest } = (input ?? {}) as { query?: object; body?: object };
  return (
    operationOf(name).method === 'POST'
      ? { ...rest, body: { ...body, cursor: next } }
      : { ...rest, query: { ...query, ...Object.fromEntries(new URL(next).searchParams) } }
  ) as InputOf<N>;
}

/** Changes the pages of an audited list that were read, so that an action need not look again. */
export function changeList<N extends OperationName>(name: N, change: (pages: ResultOf<N>[]) => ResultOf<N>[]): void {
  queries.setQueriesData<Pages<N>>(
    { predicate: ({ queryKey }) => queryKey[1] === name && queryKey[3] === PAGES },
    (kept) => kept && { ...kept, pages: change(kept.pages) },
  );
}

/** Forgets what looks have shown, so that the next press looks again. */
export function forgetReads(name: OperationName): void {
  queries.removeQueries({ predicate: ({ queryKey }) => queryKey[1] === name });
}

function nextOf(result: unknown): string | null {
  const { next = null, navigation } = (result ?? {}) as {
    next?: string | null;
    navigation?: { next: string | null };
  };
  return navigation?.next ?? next;
}

export type ActionOptions<N extends OperationName> = {
  /** Reads whose results this action changes. */
  changes?: readonly OperationName[];
  onDone?: (result: ResultOf<N>) => void;
  /** Sends the call in the place of the page's own client. */
  client?: Client;
  /** Returns what ends a call early. */
  signal?: () => AbortSignal;
};

/** Sends an action once: a repeat after a failure carries the same key, a changed input a new one. */
export function useAction<N extends OperationName>(
  name: N,
  { changes = [], onDone, client, signal }: ActionOptions<N> = {},
): UseMutationResult<ResultOf<N>, Refusal, InputOf<N>> {
  const sent = useRef<{ of: string; key: string }>(null);
  return useMutation<ResultOf<N>, Refusal, InputOf<N>>({
    mutationFn: (input) => {
      const of = JSON.stringify(input, (_, value: unknown) => sameAs(value));
      if (sent.current?.of !== of) sent.current = { of, key: crypto.randomUUID() };
      const options = { idempotencyKey: sent.current.key, ...(signal ? { signal: signal() } : {}) };
      return call(name, input, options, client);
    },
    async onSuccess(result) {
      sent.current = null;
      const isChanged = ({ queryKey }: Query) => changes.includes(queryKey[1] as OperationName);
      // A page that comes back would show the result from before until it has read anew.
      queries.removeQueries({ predicate: isChanged, type: 'inactive' });
      await queries.invalidateQueries({ predicate: isChanged });
      onDone?.(result);
    },
  });
}

/** Returns what tells two inputs apart: JSON has no big numbers, and of a file nothing. */
function sameAs(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`;
  return value instanceof File ? [value.name, value.size, value.lastModified] : value;
}

/** The result that `--json` prints: that of the client's last call, without keys. */
import type { Client } from '../../api/client.ts';

/** The document for `--json`; `isSet` distinguishes an empty result from none. */
export type LastResult = { isSet: boolean; value: unknown };

type Calls = Record<string, (...given: unknown[]) => unknown>;

/** Returns a client that records the result of its last call: for a list over pages, all its items. */
export function keepLastResult(client: Client, last: LastResult): Client {
  const { each, stream, ...calls } = client as unknown as { each: Calls; stream: Calls };
  const keep = <T>(value: T): T => {
    Object.assign(last, { isSet: true, value });
    return value;
  };
  const kept = Object.entries(calls as unknown as Calls).map(
    ([name, call]) => [name, async (...given: unknown[]) => keep(await call(...given))] as const,
  );
  const lists = Object.entries(each).map(
    ([name, list]) =>
      [
        name,
        async function* items(...given: unknown[]) {
          const all = keep<unknown[]>([]);
          for await (const item of list(...given) as AsyncIterable<unknown>) {
            all.push(item);
            yield item;
          }
        },
      ] as const,
  );
  return { ...Object.fromEntries(kept), each: Object.fromEntries(lists), stream } as unknown as Client;
}

/** Removes the keys of entities and Systems of Records anywhere in a result: other commands print them. */
export function withoutKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, member]) => !isKeys(name, member))
      .map(([name, member]) => [name, withoutKeys(member)]),
  );
}

function isKeys(name: string, member: unknown): boolean {
  if (name === 'api_keys') return Array.isArray(member) && member.every((key) => typeof key === 'string');
  return name === 'qa_api_key' || name === 'prod_api_key';
}

import { parseExactJson } from '../../domain/core/exact-json.ts';
import type { Cursor } from '../core/contract.ts';
import { isObject } from '../core/json-record.ts';

export type AirbyteState = {
  /** Takes what a STATE message holds, and gives the text that the source wants back with --state. */
  take(state: unknown): string;
};

/**
 * The source's state as it is passed back (Airbyte protocol, version 0): of streams and of all together as a list of
 * their last messages; of the first kind as the object itself. A later message stands for an earlier one of the same
 * stream.
 */
export function airbyteState(cursor: Cursor | null): AirbyteState {
  const known = new Map<string, unknown>();
  const before = typeof cursor === 'string' ? parseExactJson(cursor) : [];
  for (const message of Array.isArray(before) ? (before as unknown[]) : [])
    if (isObject(message)) known.set(placeOf(message), message);
  return {
    take(state) {
      const message = isObject(state) ? state : {};
      const kind = message['type'];
      if (kind !== 'STREAM' && kind !== 'GLOBAL') return JSON.stringify(message['data'] ?? {});
      // What else is in it counts records, and is not asked for.
      const member = kind.toLowerCase();
      if (kind === 'GLOBAL') known.clear();
      known.set(placeOf(message), { type: kind, [member]: message[member] });
      return JSON.stringify([...known.values()]);
    },
  };
}

function placeOf({ stream }: Record<string, unknown>): string {
  const descriptor = isObject(stream) ? stream['stream_descriptor'] : undefined;
  const { namespace, name } = isObject(descriptor) ? descriptor : {};
  return JSON.stringify([namespace ?? null, name ?? null]);
}

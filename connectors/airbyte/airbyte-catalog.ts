import { z } from 'zod';
import { schemaFields } from '../commands/schema-fields.ts';
import type { Field, Reading, Stream } from '../core/contract.ts';
import { sourceRefusal } from '../core/source-refusal.ts';

/** AirbyteStream of the Airbyte protocol, version 0. */
const airbyteStream = z.looseObject({
  name: z.string(),
  namespace: z.string().nullish(),
  json_schema: z.record(z.string(), z.unknown()),
  supported_sync_modes: z.array(z.string()).nullish(),
  source_defined_cursor: z.boolean().nullish(),
  default_cursor_field: z.array(z.string()).nullish(),
  source_defined_primary_key: z.array(z.array(z.string())).nullish(),
  is_resumable: z.boolean().nullish(),
});

const catalog = z.looseObject({ streams: z.array(airbyteStream) });

export type AirbyteStream = z.output<typeof airbyteStream>;

/** Null where it is none. */
export function readCatalog(told: unknown): AirbyteStream[] | null {
  const read = catalog.safeParse(told);
  return read.success ? read.data.streams : null;
}

export function streamOf(stream: AirbyteStream): Stream {
  const fields = schemaFields(stream.json_schema);
  const paths = stream.source_defined_primary_key ?? [];
  // A key within an object is none that a record could be named by here.
  const key = paths.every((path) => path.length === 1) ? paths.flat() : [];
  return { name: nameOf(stream), fields, key, incremental: incrementalOf(stream, fields) };
}

export function findStream(streams: AirbyteStream[], name: string): AirbyteStream {
  const found = streams.find((stream) => nameOf(stream) === name);
  if (!found)
    throw sourceRefusal(
      'source_refused',
      'stream: the source has no stream of this name; choose one of those it tells',
    );
  return found;
}

/** ConfiguredAirbyteCatalog with just this stream. */
export function configured(stream: AirbyteStream, { mode, cursorField }: Reading): unknown {
  const cursor = cursorField === null ? (stream.default_cursor_field ?? []) : [cursorField];
  return {
    streams: [
      {
        stream,
        sync_mode: mode === 'full' ? 'full_refresh' : 'incremental',
        cursor_field: cursor,
        primary_key: stream.source_defined_primary_key ?? [],
        destination_sync_mode: 'append',
      },
    ],
  };
}

export function nameOf({ name, namespace }: { name: string; namespace?: string | null | undefined }): string {
  return namespace ? `${namespace}.${name}` : name;
}

const ORDERED = new Set(['string', 'date', 'datetime', 'integer', 'number']);

/** The source's own cursor, or the field that a user names; the one that it proposes comes first. */
function incrementalOf(stream: AirbyteStream, fields: Field[]): Stream['incremental'] {
  if (!stream.supported_sync_modes?.includes('incremental')) return { fields: [] };
  if (stream.source_defined_cursor) return 'own';
  const proposed = stream.default_cursor_field?.length === 1 ? stream.default_cursor_field : [];
  const others = fields.filter(({ type }) => ORDERED.has(type)).map(({ name }) => name);
  return { fields: [...new Set([...proposed, ...others])] };
}

import { closest } from 'fastest-levenshtein';
import type { ConnectorContext, Stream } from '../../connectors/core/contract.ts';
import { sourceRefusal } from '../../connectors/core/source-refusal.ts';
import { sayTakesNone, takesNoValues } from '../../connectors/core/takes-values.ts';
import type { Sync } from '../../store/syncs/sync-record.ts';
import type { SyncEnds } from './job.ts';
import { targetsOf } from './record-mapper.ts';

/** The stream of that name; where there is none, the nearest is named. `side` says whose. */
export function streamNamed(streams: readonly Stream[], name: string, side: 'source' | 'destination'): Stream {
  const found = streams.find((stream) => stream.name === name);
  if (found) return found;
  throw sourceRefusal(
    'source_refused',
    `The ${side} has no stream ${name}${nearest(
      name,
      streams.map((stream) => stream.name),
    )}`,
  );
}

/**
 * Refuses to read where no record could be written, or nothing be told of what is new, since a field that the sync
 * names is none of the source's. Returns the other fields that its mapping names in vain: some come up in records
 * alone.
 */
export function fieldsNamedInVain({ mode, cursorField, mapping }: Sync, { fields, incremental }: Stream): string[] {
  const names = fields.map((field) => field.name);
  if (names.length === 0) return [];
  const isNone = (field: string) => !names.includes(field);
  if (mode === 'incremental' && incremental !== 'own' && cursorField !== null && isNone(cursorField)) {
    throw sourceRefusal(
      'source_refused',
      `cursor_field: the source has no field ${cursorField}${nearest(cursorField, names)}`,
    );
  }
  if (mapping.customer && isNone(mapping.customer.field)) {
    const { field } = mapping.customer;
    throw sourceRefusal(
      'source_refused',
      `mapping.customer.field: the source has no field ${field}${nearest(field, names)}`,
    );
  }
  return mapping.fields.flatMap((entry) =>
    'from' in entry && !('drop' in entry) && isNone(entry.from) ? entry.from : [],
  );
}

/** Says which fields those are, each with the nearest that there is. */
export function sayInVain(fields: readonly string[], { fields: there }: Stream): string {
  const names = there.map(({ name }) => name);
  return `the mapping names fields that the source does not tell of: ${fields.map((field) => field + nearest(field, names)).join(', ')}`;
}

/** Asks a destination whether it could take what the mapping makes; what it does not tell it is not asked for. */
export async function checkDestination(
  { destination, mapping }: Sync,
  { destination: open }: SyncEnds,
  context: ConnectorContext,
): Promise<void> {
  if (!open || 'sorId' in destination) return;
  const streams = await open.connector.destination!.discover(open.settings, context);
  if (streams === null) return;
  const { name, fields } = streamNamed(streams, destination.stream, 'destination');
  const names = fields.map((field) => field.name);
  const written = [...destination.key, ...targetsOf(mapping)];
  const refusing = fields.find((field) => written.includes(field.name) && takesNoValues(field, destination.key));
  if (refusing !== undefined) throw sourceRefusal('source_refused', sayTakesNone(name, refusing));
  const unknown = written.find((field) => !names.includes(field));
  if (unknown === undefined) return;
  throw sourceRefusal(
    'source_refused',
    `The stream ${name} of the destination has no field ${unknown}${nearest(unknown, names)}`,
  );
}

function nearest(name: string, names: readonly string[]): string {
  return names.length === 0 ? '' : `: did you mean ${closest(name, [...names])}?`;
}

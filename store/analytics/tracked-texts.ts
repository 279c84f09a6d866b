import { segmentIdsOfDevice } from './segment-devices.ts';

/** Returns SQL for a detail; a plain detail is its text. */
export const detailText = (row: string) =>
  `CASE jsonb_typeof(${row}.detail) WHEN 'string' THEN ${row}.detail #>> '{}' ELSE ${row}.detail::text END`;

/** Returns SQL that shows an empty text as a missing one. */
export const csvText = (text: string): string => `nullif(${text}, '')`;

/** Returns SQL for a number as JavaScript writes it: with an exponent below a millionth only. */
function degreesText(column: string): string {
  return `CASE WHEN ${column} = 0 OR abs(${column}) >= 1e-6 THEN ${column}::text::numeric::text
    ELSE replace(${column}::text, 'e-0', 'e-') END`;
}

/** SQL of fields whose text differs from their JSON: the elements of lists, and the text of a plain detail. */
export const TEXTS: Record<string, string> = {
  segments: segmentIdsOfDevice(),
  users: `(SELECT string_agg(u ->> 'user_id', ';') FROM json_array_elements(seen.users) u)`,
  detail: detailText('r'),
  latitude: degreesText('r.latitude'),
  longitude: degreesText('r.longitude'),
  last_location_latitude: degreesText('r.last_latitude'),
  last_location_longitude: degreesText('r.last_longitude'),
};

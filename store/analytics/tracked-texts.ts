import { segmentIdsOfDevice } from './segment-devices.ts';

/** A detail that is a text is that text. */
export const detailText = (row: string) =>
  `CASE jsonb_typeof(${row}.detail) WHEN 'string' THEN ${row}.detail #>> '{}' ELSE ${row}.detail::text END`;

/** A text without a character is shown as none at all is. */
export const csvText = (text: string): string => `nullif(${text}, '')`;

/** As JavaScript writes a number: with an exponent below a millionth alone. */
function degreesText(column: string): string {
  return `CASE WHEN ${column} = 0 OR abs(${column}) >= 1e-6 THEN ${column}::text::numeric::text
    ELSE replace(${column}::text, 'e-0', 'e-') END`;
}

/**
 * What differs from the JSON where a field is a text: of lists their elements, of a detail that is a text the text
 * itself.
 */
export const TEXTS: Record<string, string> = {
  segments: segmentIdsOfDevice(),
  users: `(SELECT string_agg(u ->> 'user_id', ';') FROM json_array_elements(seen.users) u)`,
  detail: detailText('r'),
  latitude: degreesText('r.latitude'),
  longitude: degreesText('r.longitude'),
  last_location_latitude: degreesText('r.last_latitude'),
  last_location_longitude: degreesText('r.last_longitude'),
};

import type { z } from 'zod';
import type { SealedCell, Secrets } from '../../store/core/secrets.ts';

/** Returns the content of a cursor that was sealed for this cell; null for one of another list, or none. */
export function openSealedCursor<S extends z.ZodType>(
  secrets: Secrets,
  cell: SealedCell,
  schema: S,
  given: string,
): z.output<S> | null {
  try {
    return schema.parse(JSON.parse(secrets.open(given, cell)));
  } catch {
    return null;
  }
}

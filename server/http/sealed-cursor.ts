import type { z } from 'zod';
import type { SealedCell, Secrets } from '../../store/core/secrets.ts';

/** What a cursor says that was sealed for this cell; null: it was sealed for another list, or is none. */
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

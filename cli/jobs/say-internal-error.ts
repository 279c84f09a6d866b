import type { ImportProgress } from '../../api/client.ts';

export function internalErrorLines(error: ImportProgress['internal_error']): string[] {
  return error === null
    ? []
    : [`an error in Millrace since ${error.since.slice(0, 19)}Z: step ${error.step}, id ${error.id}`];
}

import pg from 'pg';
import type { ExportFormat } from '../../../domain/exports/export-data-type.ts';

/** `received`: by receipt or last change; `happened`: by event time. From `start`, before `end`; null: all. */
export type ExportWindow = { kind: 'received' | 'happened'; start: Date | null; end: Date };

export type ExportScope = {
  entityId: number;
  apps: readonly { id: number; identifier: string }[];
  sors: readonly { id: number; identifier: string }[];
  window: ExportWindow;
  format: ExportFormat;
};

/** COPY takes no parameters. */
export const literal = (value: string | number | Date): string =>
  pg.escapeLiteral(value instanceof Date ? value.toISOString() : String(value));

/** Integers, none of them too. */
export const literalList = (values: readonly number[]): string =>
  `ANY (${literal(`{${values.join(',')}}`)}::integer[])`;

export function inWindow(column: string, { start, end }: Pick<ExportWindow, 'start' | 'end'>): string {
  const before = `${column} < ${literal(end)}::timestamptz`;
  return start === null ? before : `${column} >= ${literal(start)}::timestamptz AND ${before}`;
}

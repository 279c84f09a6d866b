import { z } from 'zod';
import type { ListCursor } from '../../domain/core/list-cursor.ts';

/** Writes a cursor for callers, who need not understand it. */
export function writeListCursor({ micros, id }: ListCursor): string {
  return Buffer.from(`${micros}.${id}`).toString('base64url');
}

/** Reads a cursor of `writeListCursor`. */
export const listCursor = z.string().transform((value, ctx): ListCursor => {
  const [, micros, id] = /^(\d{1,16})\.(\d{1,15})$/.exec(Buffer.from(value, 'base64url').toString()) ?? [];
  if (micros !== undefined) return { micros: Number(micros), id: Number(id) };
  ctx.issues.push({ code: 'custom', message: 'is not a cursor from `next`', input: value });
  return z.NEVER;
});

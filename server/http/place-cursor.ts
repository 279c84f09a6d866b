import { z } from 'zod';

/** Where a page ends, opaque to callers: micros since 1970, and the id among those of one time. */
export function writeCursor(micros: number, id: number): string {
  return Buffer.from(`${micros}.${id}`).toString('base64url');
}

/** What `writeCursor` wrote. */
export const placeCursor = z.string().transform((value, ctx): { micros: number; id: number } => {
  const [, micros, id] = /^(\d{1,16})\.(\d{1,15})$/.exec(Buffer.from(value, 'base64url').toString()) ?? [];
  if (micros !== undefined) return { micros: Number(micros), id: Number(id) };
  ctx.issues.push({ code: 'custom', message: 'is none that `next` gave', input: value });
  return z.NEVER;
});

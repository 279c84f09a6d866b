/** The list of what needs attention in an entity: failed jobs, paused syncs, refused mails (docs/attention.md). */
import { z } from 'zod';
import { ATTENTION_KINDS, ATTENTION_OBJECTS } from '../../domain/jobs/attention.ts';
import { pageNumber } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { readPositionCursor, writePositionCursor } from '../core/page.ts';

export const AttentionItem = z
  .object({
    kind: z.enum(ATTENTION_KINDS),
    object: z.object({
      type: z.enum(ATTENTION_OBJECTS),
      id: z.string().nullable().describe('Identifier of the object; null if there is one such object in an entity'),
      name: z.string().nullable(),
      run: z.string().nullable().describe('The run of a sync or an exporter that the entry is about; else null'),
    }),
    since: z.iso.datetime(),
    reason: z.string(),
    what_to_do: z.string(),
  })
  .meta({ id: 'AttentionItem' });
export type AttentionItem = z.output<typeof AttentionItem>;

export type AttentionCursor = { micros: number; kind: string; id: string; run: string };

export function writeAttentionCursor({ micros, kind, id, run }: AttentionCursor): string {
  return writePositionCursor([micros, kind, id, run]);
}

const word = z.string().regex(/^[\w ./:-]{0,200}$/);
const place = z.tuple([z.int().min(0), word, word, word]);

const attentionCursor = z.string().transform((value, ctx): AttentionCursor => {
  const read = readPositionCursor(place, value);
  if (read) {
    const [micros, kind, id, run] = read;
    return { micros, kind, id, run };
  }
  ctx.issues.push({ code: 'custom', message: 'is not a cursor from `next`', input: value });
  return z.NEVER;
});

export const listAttention = operation({
  id: 'listAttention',
  tag: 'Attention',
  method: 'GET',
  path: '/api/attention',
  summary: 'List what needs attention, newest first',
  description: 'You see the entries whose object you may see.',
  query: z.object({
    kind: z.enum(ATTENTION_KINDS).optional(),
    per_page: pageNumber({ min: 1, max: 1_000, otherwise: 100 }),
    cursor: attentionCursor.optional().describe('From the `next` of the page before'),
  }),
  result: z.object({
    attention: z.array(AttentionItem),
    next: z.string().nullable().describe('Address of the next page; null at the end'),
  }),
});

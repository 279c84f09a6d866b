import { z } from 'zod';
import { identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';

/** Occurrences of a kind of error (reference: Crashes). */
export const CrashOccurrence = z
  .object({
    id: z.string().describe('Identifier of the event'),
    date: z.iso.date().describe('In UTC'),
  })
  .meta({ id: 'CrashOccurrence' });

export const listCrashOccurrences = operation({
  id: 'listCrashOccurrences',
  tag: 'Crashes',
  method: 'GET',
  path: '/api/crashes/:crash_identifier/occurrences',
  summary: 'List the occurrences of a crash, oldest first',
  description:
    'Needs the right `crashes_view`; without it the answer is the 404 for a crash of an app that you may not see.',
  bare: true,
  params: z.object({ crash_identifier: identifier }),
  result: z.object({
    loading: z.array(z.boolean()).describe('Always `[false]`: the answer is there at once'),
    job_id: z.null(),
    success: z.literal(true),
    result: z.array(CrashOccurrence),
  }),
});

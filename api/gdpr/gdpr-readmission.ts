/** Readmits erased people: Millrace accepts their data again. */
import { z } from 'zod';
import { boundedArray, customerId } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const MAX_PEOPLE = 1_000;

/** Refuses a single text: `ada,bob`, read as one id, would match no one. */
function idsOf(what: 'user' | 'device') {
  return boundedArray(customerId, {
    error: `must be an array of ${what} ids; in a web form, repeat ${what}s[]`,
    max: MAX_PEOPLE,
    words: `${what} ids`,
  });
}

export const Readmitted = z
  .object({
    readmitted: z.int().describe('Number of ids whose data Millrace accepts again'),
    unknown: z.int().describe('Number of ids that were not erased; nothing changes for them'),
  })
  .meta({ id: 'Readmitted' });
export type Readmitted = z.output<typeof Readmitted>;

export const readmitPeople = operation({
  id: 'readmitPeople',
  tag: 'GDPR',
  right: 'gdpr_data_manage',
  method: 'POST',
  path: '/api/gdpr/readmit',
  summary: 'Readmit erased people: accept their data again',
  description:
    'Erased data does not come back. Millrace also erased the links between ids: name the devices to readmit, too.',
  audits: 'readmit customer',
  body: z.object({
    users: idsOf('user').optional().describe('User ids to readmit'),
    devices: idsOf('device')
      .optional()
      .describe('Device ids to readmit; users and devices together need at least one id'),
  }),
  result: Readmitted,
});

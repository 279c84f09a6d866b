import { z } from 'zod';
import { customerId } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const MAX_PEOPLE = 1_000;

/** A text is no list, also in a web form: `ada,bob` taken for one id would readmit nobody. */
function idsOf(what: 'user' | 'device') {
  return z.array(customerId, { error: `must be an array of ${what} ids; in a web form ${what}s[], repeated` })
    .max(MAX_PEOPLE, `must have at most ${MAX_PEOPLE} ${what} ids`);
}

export const Readmitted = z.object({
  readmitted: z.int().describe('Ids whose data comes in again'),
  unknown: z.int().describe('Ids of people who were never erased: nothing was done'),
}).meta({ id: 'Readmitted' });
export type Readmitted = z.output<typeof Readmitted>;

export const readmitPeople = operation({
  id: 'readmitPeople',
  tag: 'GDPR', right: 'gdpr_data_manage', method: 'POST',
  path: '/api/gdpr/readmit',
  summary: 'Readmit erased people: accept data of them again',
  description: 'What was erased does not come back. Their devices are not known any more: name the devices to readmit, too.',
  audits: 'readmit customer',
  body: z.object({
    users: idsOf('user').optional().describe('User ids'),
    devices: idsOf('device').optional().describe('Device ids'),
  }),
  result: Readmitted,
});

import { z } from 'zod';

export const internalError = z
  .object({
    id: z.string().describe('The logs of servers and workers have more under this id'),
    since: z.iso.datetime(),
    step: z.string(),
  })
  .nullable()
  .describe('Error in Millrace itself, in a step that Millrace tries again, or has given up; null if there is none');

import { z } from 'zod';
import { identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';

const markdown = 'Markdown, with links relative to /manual/privacy.md';

/** A table or file area that may hold something about a person (docs/privacy.md). */
export const PersonalDataLocation = z
  .object({
    name: z.string().describe('Name of a table, or of an area of the file store, with a slash at its end'),
    feature: z.string().describe('Feature that writes it: imports, syncs, tracking, …'),
    holds: z.string().describe(`What it may hold. ${markdown}`),
    found_by: z.string().describe('How Millrace finds a person there'),
    erased_by: z.string().describe('What a deletion does there'),
    kept_for: z.string().describe('How long Millrace keeps it without a deletion'),
    is_erased: z.boolean().describe('False: it holds keyed hashes alone, and no deletion changes it'),
    erased: z
      .int()
      .nullable()
      .optional()
      .describe('Only with request_id: number of rows and files erased there in the current round; null if none yet'),
    survivors: z
      .int()
      .nullable()
      .optional()
      .describe('Only with request_id: number of rows and files that the last scan still found; null before a scan'),
  })
  .meta({ id: 'PersonalDataLocation' });
export type PersonalDataLocation = z.output<typeof PersonalDataLocation>;

export const listPersonalDataLocations = operation({
  id: 'listPersonalDataLocations',
  method: 'GET',
  path: '/api/gdpr/locations',
  summary: 'List the locations that may hold personal data',
  description: 'In the order in which a deletion erases them. With request_id, each has the counts of that deletion.',
  tag: 'GDPR',
  right: 'gdpr_data_manage',
  query: z.object({ request_id: identifier.optional().describe('Identifier of a deletion request') }),
  result: z.object({ locations: z.array(PersonalDataLocation) }),
});

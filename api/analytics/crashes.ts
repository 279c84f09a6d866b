/** A crash: when it occurred, in which versions, on which devices. */

import { z } from 'zod';
import { identifier } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { Crash } from '../tracking/call-reports.ts';
import { dayPeriodQuery } from './event-analytics.ts';

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

const Share = z.object({
  value: z.string().nullable().describe('Null: the session is unknown, or did not say it'),
  errors: z.int(),
  devices: z.int(),
});

const shares = (what: string) => z.array(Share).describe(`${what} of the errors that were looked at: up to 50`);

/** A crash with its days, versions and devices. */
export const ViewedCrash = Crash.extend({
  application_id: z.string(),
  days: z
    .array(z.object({ date: z.iso.date().describe('In UTC'), errors: z.int() }))
    .describe('Each day of the period, also one without errors'),
  looked_at: z.int().describe('Number of errors whose sessions were looked at: the newest 10,000 of the period'),
  devices: z.int().describe('Devices of these errors'),
  app_versions: shares('Versions of the app'),
  os_versions: shares('Versions of the system'),
  device_models: shares('Models of the devices'),
  sample_event_id: z.string().nullable().describe('The newest error of the period, for `viewEvent`'),
}).meta({ id: 'ViewedCrash' });
export type ViewedCrash = z.output<typeof ViewedCrash>;

export const viewCrash = operation({
  id: 'viewCrash',
  tag: 'Crashes',
  right: 'crashes_view',
  method: 'GET',
  path: '/api/crashes/:crash_identifier',
  summary: 'Read a crash with its days, versions and devices in a period',
  description: 'Without `sd` and `ed`, the last 30 days count.',
  params: z.object({ crash_identifier: identifier }),
  query: z.object(dayPeriodQuery),
  result: ViewedCrash,
});

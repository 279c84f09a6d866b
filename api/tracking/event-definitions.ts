/** Event definitions: display names, labels and key events of an app. */

import { z } from 'zod';
import { bodyFlag, bodyList, identifier, name } from '../core/input.ts';
import { operation } from '../core/operation.ts';
import { pageOf, pageQuery } from '../core/page.ts';

const TAG = 'Event definitions';
const PATH = '/api/apps/:app_identifier/event_definitions';
const MAX_LABELS = 100;
const params = z.object({ app_identifier: identifier, event_id: identifier });

export const EventDefinition = z
  .object({
    identifier: z.int(),
    log_type: z
      .union([z.literal(1), z.literal(2), z.literal(3)])
      .describe('1 errors, 2 events, 3 background transitions'),
    display_name: z.string().describe("Name for people; the event's name until you set one"),
    name: z.string(),
    goal: z.boolean().describe('True for a key event'),
    labels: z.array(z.string()),
  })
  .meta({ id: 'EventDefinition' });
export type EventDefinition = z.output<typeof EventDefinition>;

export const listEventDefinitions = operation({
  id: 'listEventDefinitions',
  tag: TAG,
  right: 'usage_analytics_view',
  method: 'GET',
  path: PATH,
  summary: 'List the event definitions of an app',
  params: params.pick({ app_identifier: true }),
  query: z.object(pageQuery),
  result: pageOf(EventDefinition),
});

export const updateEventDefinition = operation({
  id: 'updateEventDefinition',
  tag: TAG,
  right: 'usage_analytics_manage',
  method: 'PUT',
  path: `${PATH}/:event_id`,
  summary: 'Update an event definition: display name, key event, labels',
  description: 'Members that you leave out stay as they are.',
  audits: 'update event_definition',
  params,
  body: z.object({
    display_name: name.nullable().optional().describe("Null: use the event's name again"),
    goal: bodyFlag.optional(),
    labels: bodyList(name, MAX_LABELS)
      .optional()
      .describe('All labels of the event; Millrace creates those that do not exist yet'),
  }),
  result: EventDefinition,
});

export const deleteEventDefinition = operation({
  id: 'deleteEventDefinition',
  tag: TAG,
  right: 'usage_analytics_manage',
  method: 'DELETE',
  path: `${PATH}/:event_id`,
  summary: 'Delete an event definition',
  description: 'The events stay. If such an event comes again, Millrace makes a definition for it within five minutes.',
  audits: 'delete event_definition',
  params,
  status: 204,
});

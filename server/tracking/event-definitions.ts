import { z } from 'zod';
import { refuse } from '../../domain/core/refusal.ts';
import { setLabels } from '../../store/apps/labels.ts';
import { write } from '../../store/core/database.ts';
import {
  countEventDefinitions, type EventDefinition, findEventDefinition, listEventDefinitions, updateEventDefinition,
} from '../../store/tracking/event-definitions.ts';
import { requireApp } from '../apps/find-app.ts';
import { audit } from '../http/audit.ts';
import { bodyFlag, bodyList, identifier, name } from '../http/input.ts';
import { pageOf, pageQuery, rowsOf, showPage } from '../http/page.ts';
import { type Route, route } from '../http/route.ts';

/** The kinds of events that an app sent, and what people call them. */
const TAG = 'Event definitions';
const LIST = '/api/apps/:app_identifier/event_definitions';
const MAX_LABELS = 100;
const params = z.object({ app_identifier: identifier, event_id: identifier });

const EventDefinitionRecord = z.object({
  identifier: z.int(),
  log_type: z.union([z.literal(1), z.literal(2), z.literal(3)]).describe('1 errors, 2 events, 3 background transitions'),
  display_name: z.string().describe('The name where none was given'),
  name: z.string(),
  goal: z.boolean().describe('A key event'),
  labels: z.array(z.string()),
});

const listTheDefinitions = route({
  tag: TAG,
  right: 'usage_analytics_view',
  method: 'GET',
  path: LIST,
  summary: 'List the event definitions of an app',
  params: params.pick({ app_identifier: true }),
  query: z.object(pageQuery),
  result: pageOf(EventDefinitionRecord),
  async handle({ params: { app_identifier }, query, caller: { entityId } }, { db, settings }) {
    const app = await requireApp(db, entityId, app_identifier);
    const definitions = await listEventDefinitions(db, entityId, app.id, rowsOf(query));
    const total = await countEventDefinitions(db, entityId, app.id);
    return showPage(settings, LIST.replace(':app_identifier', app.identifier), query, total, definitions.map(showDefinition));
  },
});

const changeDefinition = route({
  tag: TAG,
  right: 'usage_analytics_manage',
  method: 'PUT',
  path: `${LIST}/:event_id`,
  summary: 'Update an event definition: display name, key event, labels',
  description: 'What is left out stays.',
  params,
  body: z.object({
    display_name: name.nullable().optional().describe('Null: shown by its name again'),
    goal: bodyFlag.optional(),
    labels: bodyList(name, MAX_LABELS).optional().describe('These and no others; those that do not exist yet are made'),
  }),
  result: EventDefinitionRecord,
  async handle({ params: { app_identifier, event_id }, body, ...who }, { db }) {
    const { entityId } = who.caller;
    const { display_name: displayName, goal, labels } = body;
    return write(db, async (tx) => {
      const app = await requireApp(tx, entityId, app_identifier);
      const id = idOf(event_id);
      if (!await updateEventDefinition(tx, entityId, app.id, id, { displayName, goal })) refuseUnknown();
      if (labels) await setLabels(tx, entityId, { kind: 'event_definition', id }, labels);
      await audit(tx, who, {
        action: 'update', subjectKind: 'event_definition', subject: String(id),
        details: {
          ...(displayName === undefined ? {} : { displayName }), ...(goal === undefined ? {} : { goal }),
          ...(labels ? { labels: labels.join(', ') } : {}),
        },
      });
      return showDefinition(await findEventDefinition(tx, entityId, app.id, id) ?? refuseUnknown());
    });
  },
});

/** An integer id; whatever is none is that of no event. */
function idOf(given: string): number {
  const id = /^\d{1,10}$/.test(given) ? Number(given) : 0;
  return id < 2 ** 31 ? id : refuseUnknown();
}

function refuseUnknown(): never {
  return refuse(404, 'not_found', 'Event definition not found');
}

function showDefinition({ id, logType, name: named, displayName, goal, labels }: EventDefinition): z.input<typeof EventDefinitionRecord> {
  return { identifier: id, log_type: logType, display_name: displayName ?? named, name: named, goal, labels };
}

export const eventDefinitionRoutes: Route[] = [listTheDefinitions, changeDefinition];

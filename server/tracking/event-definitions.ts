/** The routes of event definitions: list, change, delete. */

import * as api from '../../api/tracking/event-definitions.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { setLabels } from '../../store/apps/labels.ts';
import { write } from '../../store/core/database.ts';
import {
  deleteEventDefinition,
  type EventDefinition,
  findEventDefinition,
  listEventDefinitions,
  updateEventDefinition,
} from '../../store/tracking/event-definitions.ts';
import { requireApp } from '../apps/find-app.ts';
import { audit } from '../http/audit.ts';
import { rowsOf, showPage } from '../http/page.ts';
import { noContent } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';

const listTheDefinitions = route(
  api.listEventDefinitions,
  async ({ params: { app_identifier }, query, caller: { entityId } }, { db, settings }) => {
    const app = await requireApp(db, entityId, app_identifier);
    const { items, total } = await listEventDefinitions(db, entityId, app.id, rowsOf(query));
    const path = api.listEventDefinitions.path.replace(':app_identifier', app.identifier);
    return showPage(settings, path, query, total, items.map(showDefinition));
  },
);

const changeDefinition = route(
  api.updateEventDefinition,
  async ({ params: { app_identifier, event_id }, body, ...who }, { db }) => {
    const { entityId } = who.caller;
    const { display_name: displayName, goal, labels } = body;
    return write(db, async (tx) => {
      const app = await requireApp(tx, entityId, app_identifier);
      const id = idOf(event_id);
      if (!(await updateEventDefinition(tx, entityId, app.id, id, { displayName, goal }))) refuseUnknown();
      if (labels) await setLabels(tx, entityId, { kind: 'event_definition', id }, labels);
      await audit(tx, who, {
        action: 'update',
        subjectKind: 'event_definition',
        subject: String(id),
        details: {
          ...(displayName === undefined ? {} : { displayName }),
          ...(goal === undefined ? {} : { goal }),
          ...(labels ? { labels: labels.join(', ') } : {}),
        },
      });
      return showDefinition((await findEventDefinition(tx, entityId, app.id, id)) ?? refuseUnknown());
    });
  },
);

const deleteDefinition = route(
  api.deleteEventDefinition,
  async ({ params: { app_identifier, event_id }, ...who }, { db }) => {
    const { entityId } = who.caller;
    await write(db, async (tx) => {
      const app = await requireApp(tx, entityId, app_identifier);
      const id = idOf(event_id);
      if (!(await deleteEventDefinition(tx, entityId, app.id, id))) refuseUnknown();
      // Without the event's name, which the app chose: the audit log keeps every entry.
      await audit(tx, who, {
        action: 'delete',
        subjectKind: 'event_definition',
        subject: String(id),
        details: { app: app.identifier },
      });
    });
    return noContent();
  },
);

/** Reads an integer id. Any other text is the id of no event. */
function idOf(given: string): number {
  const id = /^\d{1,10}$/.test(given) ? Number(given) : 0;
  return id < 2 ** 31 ? id : refuseUnknown();
}

function refuseUnknown(): never {
  return refuse(404, 'not_found', 'Event definition not found');
}

function showDefinition({ id, logType, name: named, displayName, goal, labels }: EventDefinition): api.EventDefinition {
  return { identifier: id, log_type: logType, display_name: displayName ?? named, name: named, goal, labels };
}

export const eventDefinitionRoutes: Route[] = [listTheDefinitions, changeDefinition, deleteDefinition];

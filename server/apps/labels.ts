/** The routes of labels. */

import * as api from '../../api/apps/labels.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { deleteLabel, insertLabel, type Label, lockLabel, renameLabel, streamLabels } from '../../store/apps/labels.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { noContent, streamedList } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';

const NAME_TAKEN = 'is the name of another label already';

const listTheLabels = route(api.listLabels, async (who, { db, streamedLists }) => {
  return streamedList(streamedLists.shown(who, streamLabels(db, who.caller.entityId), (piece) => piece.map(showLabel)));
});

const createLabel = route(api.createLabel, async ({ body, keepReply, ...who }, { db }) => {
  return write(db, async (tx) => {
    const label = (await insertLabel(tx, who.caller.entityId, body.name)) ?? refuseField('name', NAME_TAKEN);
    await audit(tx, who, { action: 'create', subjectKind: 'label', subject: label.name });
    return keepReply(tx, showLabel(label));
  });
});

const renameTheLabel = route(
  api.renameLabel,
  async ({ params: { name: before }, body: { new_name }, ...who }, { db }) => {
    const { entityId } = who.caller;
    // A concurrent request with the same name finds it taken.
    return write(
      db,
      async (tx) => {
        const label = (await lockLabel(tx, entityId, before)) ?? refuseUnknown();
        if (!(await renameLabel(tx, entityId, label.id, new_name))) refuseField('new_name', NAME_TAKEN);
        await audit(tx, who, { action: 'update', subjectKind: 'label', subject: before, details: { name: new_name } });
        return showLabel({ ...label, name: new_name });
      },
      { collide: true },
    );
  },
);

const deleteTheLabel = route(api.deleteLabel, async ({ params: { name: unwanted }, ...who }, { db }) => {
  await write(db, async (tx) => {
    if (!(await deleteLabel(tx, who.caller.entityId, unwanted))) refuseUnknown();
    await audit(tx, who, { action: 'delete', subjectKind: 'label', subject: unwanted });
  });
  return noContent();
});

function refuseUnknown(): never {
  return refuse(404, 'not_found', 'Label not found');
}

function showLabel({ name: shown, targets, createdAt }: Label): api.Label {
  return { name: shown, targets, created_at: createdAt.toISOString() };
}

export const labelRoutes: Route[] = [listTheLabels, createLabel, renameTheLabel, deleteTheLabel];

import { z } from 'zod';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import { deleteLabel, insertLabel, type Label, listLabels, lockLabel, renameLabel } from '../../store/apps/labels.ts';
import { write } from '../../store/core/database.ts';
import { audit } from '../http/audit.ts';
import { identifier, name } from '../http/input.ts';
import { noContent } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';

/** Words by which people order what they set up (reference: Labels). */
const SHARED = { tag: 'Labels', right: 'usage_analytics_manage' } as const;
const NAME_TAKEN = 'is the name of another label already';
const params = z.object({ name: identifier });

const LabelRecord = z.object({
  name: z.string(),
  targets: z.int().describe('How many things bear it'),
  created_at: z.iso.datetime(),
});

const listTheLabels = route({
  ...SHARED,
  method: 'GET',
  path: '/api/labels',
  summary: 'List labels',
  result: z.array(LabelRecord),
  async handle({ caller }, { db }) {
    return (await listLabels(db, caller.entityId)).map(showLabel);
  },
});

const createLabel = route({
  ...SHARED,
  method: 'POST',
  path: '/api/labels',
  summary: 'Create a label',
  body: z.object({ name }),
  result: LabelRecord,
  async handle({ body, keepReply, ...who }, { db }) {
    return write(db, async (tx) => {
      const label = await insertLabel(tx, who.caller.entityId, body.name) ?? refuseField('name', NAME_TAKEN);
      await audit(tx, who, { action: 'create', subjectKind: 'label', subject: label.name });
      return keepReply(tx, showLabel(label));
    });
  },
});

const renameTheLabel = route({
  ...SHARED,
  method: 'PUT',
  path: '/api/labels/:name',
  summary: 'Rename a label everywhere it is used',
  params,
  body: z.object({ new_name: name }),
  result: LabelRecord,
  async handle({ params: { name: before }, body: { new_name }, ...who }, { db }) {
    const { entityId } = who.caller;
    // Of two that give the same name at once, the second finds it taken.
    return write(db, async (tx) => {
      const label = await lockLabel(tx, entityId, before) ?? refuseUnknown();
      if (!await renameLabel(tx, entityId, label.id, new_name)) refuseField('new_name', NAME_TAKEN);
      await audit(tx, who, { action: 'update', subjectKind: 'label', subject: before, details: { name: new_name } });
      return showLabel({ ...label, name: new_name });
    }, { collide: true });
  },
});

const deleteTheLabel = route({
  ...SHARED,
  method: 'DELETE',
  path: '/api/labels/:name',
  summary: 'Delete a label; the objects that had it stay',
  params,
  status: 204,
  async handle({ params: { name: unwanted }, ...who }, { db }) {
    await write(db, async (tx) => {
      if (!await deleteLabel(tx, who.caller.entityId, unwanted)) refuseUnknown();
      await audit(tx, who, { action: 'delete', subjectKind: 'label', subject: unwanted });
    });
    return noContent();
  },
});

function refuseUnknown(): never {
  return refuse(404, 'not_found', 'Label not found');
}

function showLabel({ name: shown, targets, createdAt }: Label): z.input<typeof LabelRecord> {
  return { name: shown, targets, created_at: createdAt.toISOString() };
}

export const labelRoutes: Route[] = [listTheLabels, createLabel, renameTheLabel, deleteTheLabel];

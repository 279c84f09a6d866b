import { z } from 'zod';
import { VALUE_TYPES } from '../../domain/attributes/attribute-value.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import {
  type CustomerAttribute, deleteCustomerAttribute, findCustomerAttribute, insertCustomerAttribute,
  updateCustomerAttribute,
} from '../../store/attributes/customer-attributes.ts';
import { findSorById, lockSor, type SystemOfRecord } from '../../store/attributes/systems-of-records.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import type { ApiVersion } from '../http/api-version.ts';
import { audit } from '../http/audit.ts';
import { bodyFlag, identifier, name, text } from '../http/input.ts';
import { noResult } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';
import { AttributeRecord, findVisibleSor, isVisible, showAttribute } from './sor-record.ts';

const SHARED = { tag: 'Customer attributes', right: 'sor_manage' } as const;
const params = z.object({ ca_identifier: identifier });

const ViewedAttribute = AttributeRecord.extend({
  sor_id: z.string(),
  sor: z.object({ name: z.string(), identifier: z.string(), type: z.string() }),
});

const viewAttribute = route({
  ...SHARED,
  method: 'GET',
  path: '/api/customer_attributes/:ca_identifier',
  summary: 'View a customer attribute',
  params,
  result: ViewedAttribute,
  async handle({ params: { ca_identifier }, caller, version }, { db }) {
    const { attribute, sor } = await findVisible(db, caller.entityId, ca_identifier, version);
    return view(attribute, sor, version);
  },
});

const defineAttribute = route({
  ...SHARED,
  method: 'POST',
  path: '/api/customer_attributes',
  summary: 'Define a customer attribute of a custom System of Records',
  body: z.object({
    sor_id: identifier,
    key: text(),
    label: name.optional().describe('By default the key'),
    value_type: z.enum(VALUE_TYPES),
  }),
  result: ViewedAttribute,
  async handle({ body, version, keepReply, ...who }, { db }) {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const sor = await findVisibleSor(tx, entityId, body.sor_id, version, lockSor);
      refuseOtherThanCustom(sor);
      const definition = { key: body.key, label: body.label ?? body.key, valueType: body.value_type };
      const attribute = await insertCustomerAttribute(tx, entityId, sor.id, definition)
        ?? refuseField('key', 'is already the key of an attribute of this system of record');
      await audit(tx, who, { action: 'create', subjectKind: 'customer_attribute', subject: attribute.identifier });
      return keepReply(tx, view(attribute, sor, version));
    });
  },
});

const changeAttribute = route({
  ...SHARED,
  method: 'PUT',
  path: '/api/customer_attributes/:ca_identifier',
  summary: 'Change the label of a customer attribute, disable or enable it',
  params,
  body: z.object({ label: name.optional(), disabled: bodyFlag.optional() }),
  result: ViewedAttribute,
  async handle({ params: { ca_identifier }, body, version, ...who }, { db }) {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const { attribute: { id }, sor } = await lockVisible(tx, entityId, ca_identifier, version);
      const attribute = await updateCustomerAttribute(tx, entityId, id, body);
      const details = { label: body.label !== undefined, disabled: body.disabled ?? null };
      await audit(tx, who, {
        action: 'update', subjectKind: 'customer_attribute', subject: attribute.identifier, details,
      });
      return view(attribute, sor, version);
    });
  },
});

const removeAttribute = route({
  ...SHARED,
  method: 'DELETE',
  path: '/api/customer_attributes/:ca_identifier',
  summary: 'Delete a customer attribute and all its values',
  params,
  async handle({ params: { ca_identifier }, version, ...who }, { db }) {
    await write(db, async (tx) => {
      const { attribute } = await lockVisible(tx, who.caller.entityId, ca_identifier, version);
      await deleteCustomerAttribute(tx, who.caller.entityId, attribute.id);
      await audit(tx, who, { action: 'delete', subjectKind: 'customer_attribute', subject: attribute.identifier });
    });
    return noResult();
  },
});

type Found = { attribute: CustomerAttribute; sor: SystemOfRecord };

async function findVisible(
  db: Queryable, entityId: number, ca_identifier: string, version: ApiVersion,
): Promise<Found> {
  const attribute = await findCustomerAttribute(db, entityId, ca_identifier);
  const sor = attribute && await findSorById(db, entityId, attribute.sorId);
  return sor && isVisible(sor, version) ? { attribute, sor } : refuse(404, 'not_found', 'Customer attribute not found');
}

/** Looks again once the SoR is held: another request may have deleted the attribute meanwhile. */
async function lockVisible(
  tx: Queryable, entityId: number, ca_identifier: string, version: ApiVersion,
): Promise<Found> {
  const { sor } = await findVisible(tx, entityId, ca_identifier, version);
  refuseOtherThanCustom(sor);
  await lockSor(tx, entityId, sor.identifier);
  return findVisible(tx, entityId, ca_identifier, version);
}

function refuseOtherThanCustom({ type }: SystemOfRecord): void {
  if (type !== 'custom') refuse(400, 'bad_request', 'Only the attributes of custom systems of records can be changed');
}

function view(attribute: CustomerAttribute, sor: SystemOfRecord, version: ApiVersion): z.input<typeof ViewedAttribute> {
  const { name: sorName, identifier: sorIdentifier, type } = sor;
  return {
    ...showAttribute(attribute, type, version),
    sor_id: sorIdentifier,
    sor: { name: sorName, identifier: sorIdentifier, type },
  };
}

export const customerAttributeRoutes: Route[] = [viewAttribute, defineAttribute, changeAttribute, removeAttribute];

/** The routes of customer attributes: view, define, change, delete. */
import * as api from '../../api/attributes/customer-attributes.ts';
import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import { refuse, refuseField } from '../../domain/core/refusal.ts';
import {
  type CustomerAttribute,
  deleteCustomerAttribute,
  findCustomerAttribute,
  insertCustomerAttribute,
  updateCustomerAttribute,
} from '../../store/attributes/customer-attributes.ts';
import { findSorById, lockSor, type SystemOfRecord } from '../../store/attributes/systems-of-records.ts';
import { type Queryable, write } from '../../store/core/database.ts';
import { keepHidden } from '../analytics/attributes-of-filters.ts';
import { type ApiVersion, type Route, route } from '../http/route.ts';
import { audit } from '../http/audit.ts';
import { noResult } from '../http/reply.ts';
import { findVisibleSor, isVisible, showAttribute } from './sor-record.ts';

const viewAttribute = route(
  api.viewCustomerAttribute,
  async ({ params: { ca_identifier }, caller, version }, { db }) => {
    const { attribute, sor } = await findVisible(db, caller.entityId, ca_identifier, version);
    return view(attribute, sor, version);
  },
);

const defineAttribute = route(api.createCustomerAttribute, async ({ body, version, keepReply, ...who }, { db }) => {
  const { entityId } = who.caller;
  return write(db, async (tx) => {
    const sor = await findVisibleSor(tx, entityId, body.sor_id, version, lockSor);
    refuseOtherThanCustom(sor);
    const definition = {
      key: body.key,
      label: body.label ?? body.key,
      valueType: body.value_type,
      isIdentifier: body.is_identifier,
      isSensitive: body.sensitive,
    };
    const attribute =
      (await insertCustomerAttribute(tx, entityId, sor.id, definition)) ??
      refuseField('key', 'is already the key of an attribute of this system of record');
    await audit(tx, who, { action: 'create', subjectKind: 'customer_attribute', subject: attribute.identifier });
    return keepReply(tx, view(attribute, sor, version));
  });
});

const changeAttribute = route(
  api.updateCustomerAttribute,
  async ({ params: { ca_identifier }, body, version, ...who }, { db }) => {
    const { entityId } = who.caller;
    return write(db, async (tx) => {
      const { label, disabled, is_identifier: isIdentifier, sensitive: isSensitive, value_type: valueType } = body;
      const isOfAnySor =
        label === undefined &&
        disabled === undefined &&
        (isIdentifier !== undefined || isSensitive !== undefined || valueType !== undefined);
      const { attribute: found, sor } = await lockVisible(tx, entityId, ca_identifier, version, { isOfAnySor });
      if (valueType !== undefined) refuseOtherType(found, valueType);
      const attribute = await updateCustomerAttribute(tx, entityId, found.id, {
        label,
        disabled,
        isIdentifier,
        isSensitive,
        valueType,
      });
      const details = {
        label: label !== undefined,
        disabled: disabled ?? null,
        is_identifier: isIdentifier ?? null,
        sensitive: isSensitive ?? null,
        ...(valueType !== undefined && { value_type: valueType }),
      };
      await audit(tx, who, {
        action: 'update',
        subjectKind: 'customer_attribute',
        subject: attribute.identifier,
        details,
      });
      return view(attribute, sor, version);
    });
  },
);

const removeAttribute = route(
  api.deleteCustomerAttribute,
  async ({ params: { ca_identifier }, version, ...who }, { db }) => {
    await write(db, async (tx) => {
      const { attribute } = await lockVisible(tx, who.caller.entityId, ca_identifier, version);
      await keepHidden(tx, who.caller.entityId, () => deleteCustomerAttribute(tx, who.caller.entityId, attribute.id));
      await audit(tx, who, { action: 'delete', subjectKind: 'customer_attribute', subject: attribute.identifier });
    });
    return noResult();
  },
);

type Found = { attribute: CustomerAttribute; sor: SystemOfRecord };

async function findVisible(
  db: Queryable,
  entityId: number,
  ca_identifier: string,
  version: ApiVersion,
): Promise<Found> {
  const attribute = await findCustomerAttribute(db, entityId, ca_identifier);
  const sor = attribute && (await findSorById(db, entityId, attribute.sorId));
  return sor && isVisible(sor, version) ? { attribute, sor } : refuse(404, 'not_found', 'Customer attribute not found');
}

/** Finds the attribute again under the SoR's lock: another request may have deleted it. */
async function lockVisible(
  tx: Queryable,
  entityId: number,
  ca_identifier: string,
  version: ApiVersion,
  { isOfAnySor = false } = {},
): Promise<Found> {
  const { sor } = await findVisible(tx, entityId, ca_identifier, version);
  if (!isOfAnySor) refuseOtherThanCustom(sor);
  await lockSor(tx, entityId, sor.identifier);
  return findVisible(tx, entityId, ca_identifier, version);
}

function refuseOtherThanCustom({ type }: SystemOfRecord): void {
  if (type !== 'custom') refuse(400, 'bad_request', 'Only the attributes of custom systems of records can be changed');
}

/** Refuses a new type, except String for a guessed one: no other type takes all existing values. */
function refuseOtherType({ isGuessed, valueType: own }: CustomerAttribute, valueType: ValueType): void {
  if (valueType === own || (isGuessed && valueType === 'String' && own !== 'Set')) return;
  const choice = isGuessed && own !== 'Set' && own !== 'String' ? `${own} or String` : own;
  refuseField('value_type', `must be ${choice}: values of the type are there, or were`);
}

function view(attribute: CustomerAttribute, sor: SystemOfRecord, version: ApiVersion): api.CustomerAttribute {
  const { name: sorName, identifier: sorIdentifier, type } = sor;
  return {
    ...showAttribute(attribute, type, version),
    sor_id: sorIdentifier,
    sor: { name: sorName, identifier: sorIdentifier, type },
  };
}

export const customerAttributeRoutes: Route[] = [viewAttribute, defineAttribute, changeAttribute, removeAttribute];

/** Values of one customer. */
import type { z } from 'zod';
import * as api from '../../api/attributes/attribute-values.ts';
import { findAttributeValues, type StoredValue } from '../../store/attributes/attribute-values.ts';
import type { SystemOfRecord } from '../../store/attributes/systems-of-records.ts';
import { type Tx, write } from '../../store/core/database.ts';
import type { Person } from '../../store/gdpr/tombstones.ts';
import { findLastUser } from '../../store/tracking/installations.ts';
import type { RouteDependencies } from '../dependencies.ts';
import { type ApiVersion, type Circumstances, type Route, route } from '../http/route.ts';
import { audit } from '../http/audit.ts';
import type { Caller } from '../http/caller.ts';
import { rawNumber } from '../http/reply.ts';
import { findVisibleSor } from './sor-record.ts';

const readAttributeValues = route(api.readAttributeValues, async (asked, deps) => ({
  customer_id: asked.query.customer_id,
  customer_id_type: asked.query.customer_type,
  attribute_values: await readValues(asked, deps),
}));

const readCustomerAttributeValues = route(api.readCustomerAttributeValues, readValues);

type Asked = Circumstances & { query: z.output<typeof api.ATTRIBUTE_VALUES.query>; caller: Caller };

async function readValues(
  { query, version, ...who }: Asked,
  { db, secrets }: RouteDependencies,
): Promise<Record<string, unknown>> {
  const { entityId } = who.caller;
  const values = await write(db, async (tx) => {
    const sor = await findVisibleSor(tx, entityId, query.sor_id, version);
    const { customerType, customerId: id } = await customerMeant(tx, entityId, sor, query);
    const customerHash = secrets.customerHash(entityId, customerType, id);
    await audit(tx, who, { action: 'read', subjectKind: 'customer', customerHash, details: { sor: sor.identifier } });
    return findAttributeValues(tx, entityId, sor.id, customerType, id);
  });
  const show = query.with_validity_dates ? (value: StoredValue) => showDated(value, version) : showValue;
  return Object.fromEntries(values.map((value) => [value.key, show(value)]));
}

/** Outside custom SoRs, returns a device's last named user, if any (reference: Customer attribute values). */
async function customerMeant(
  tx: Tx,
  entityId: number,
  { type, appId }: SystemOfRecord,
  { customer_id, customer_type }: Asked['query'],
): Promise<Person> {
  const asked: Person = { customerType: customer_type, customerId: customer_id };
  if (customer_type === 'user_id' || type === 'custom') return asked;
  const user = await findLastUser(tx, entityId, appId, customer_id);
  return user === null ? asked : { customerType: 'user_id', customerId: user };
}

function showValue({ valueType, value, elements }: StoredValue): unknown {
  if (elements) return elements.map((element) => element.value);
  if (valueType === 'Number' && typeof value === 'string') return rawNumber(value);
  return value; // a Date becomes ISO in UTC with milliseconds
}

/** Shows values; v2 also dates each element of a Set (reference: Customer attribute values). */
function showDated(stored: StoredValue, version: ApiVersion): unknown {
  const dated = { value: showValue(stored), since: stored.since };
  return version === 2 && stored.elements ? { ...dated, elements: stored.elements } : dated;
}

export const attributeValueRoutes: Route[] = [readAttributeValues, readCustomerAttributeValues];

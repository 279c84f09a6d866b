import type * as api from '../../api/attributes/customer-profiles.ts';
import type { ValueType } from '../../domain/attributes/attribute-value.ts';
import type { ProfileValue } from '../../store/attributes/profile-values.ts';
import { type Person, personKey } from '../../store/gdpr/tombstones.ts';
import type { Application } from '../../store/tracking/installations.ts';
import { JsonText, rawNumber } from '../http/raw-json.ts';
import type { ProfileSelection } from './profile-selection.ts';

type Found = { customer: Person; values: ProfileValue[] };
/** The apps of a page's customers, by `personKey`. */
export type Applications = ReadonlyMap<string, readonly Application[]>;
type Members = Record<string, Record<string, unknown>>;

/**
 * Shows all attributes that are selected, those without a value as null: as JSON, since objects with members by chance,
 * and JSON.stringify of them, took a third of a page's time.
 */
export function fullProfiles({ sors }: ProfileSelection, applications: Applications): (found: Found) => JsonText {
  const shapes = sors.map(({ name, attributes }) => ({
    name: JSON.stringify(name),
    keys: attributes.map(({ key }) => `${JSON.stringify(key)}:`),
  }));
  const places = new Map(
    sors.flatMap(({ attributes }, sor) =>
      attributes.map(({ id, valueType }, at) => [id, { sor, at, valueType }] as const),
    ),
  );
  return ({ customer, values }) => {
    const texts = shapes.map(({ keys }) => keys.map((key) => `${key}null`));
    for (const value of values) {
      if (value.isRemoved) continue;
      const { sor, at, valueType } = places.get(value.attributeId)!;
      texts[sor]![at] = shapes[sor]!.keys[at]! + valueText(valueType, value);
    }
    const attributes = shapes.map(({ name }, sor) => `${name}:{${texts[sor]!.join(',')}}`).join(',');
    return new JsonText(
      `{"customer_id":${JSON.stringify(customer.customerId)},"customer_id_type":"${customer.customerType}",` +
        `"attributes":{${attributes}},"applications":${JSON.stringify(shownApplications(customer, applications))}}`,
    );
  };
}

function valueText(valueType: ValueType, stored: ProfileValue): string {
  // A number, true and false are written as they are stored.
  const isBare =
    typeof stored.value === 'string' && stored.elements === null && (valueType === 'Number' || valueType === 'Boolean');
  return isBare ? (stored.value as string) : JSON.stringify(showValue(valueType, stored));
}

/** Shows the values that there are as `{ value, removed }`. */
export function changedProfiles(
  { sors }: ProfileSelection,
  applications: Applications,
): (found: Found) => api.CustomerProfile {
  const places = placesOf(sors);
  return ({ customer, values }) => {
    const members: Members = blank();
    members.global = blank();
    for (const value of values) {
      const place = places.get(value.attributeId)!;
      members[place.sor] ??= blank();
      members[place.sor]![place.key] = { value: showValue(place.valueType, value), removed: value.isRemoved };
    }
    return record(customer, members, applications);
  };
}

function placesOf(sors: ProfileSelection['sors']): Map<number, { sor: string; key: string; valueType: ValueType }> {
  return new Map(
    sors.flatMap(({ name, attributes }) =>
      attributes.map(({ id, key, valueType }) => [id, { sor: name, key, valueType }] as const),
    ),
  );
}

/** Without a prototype, so that a key like __proto__ is one like any other. */
function blank<T extends object>(): T {
  return Object.create(null) as T;
}

function record(customer: Person, attributes: Members, applications: Applications) {
  const { customerId, customerType } = customer;
  return {
    customer_id: customerId,
    customer_id_type: customerType,
    attributes,
    applications: shownApplications(customer, applications),
  };
}

function shownApplications(customer: Person, applications: Applications) {
  return (applications.get(personKey(customer)) ?? []).map(({ appIdentifier, sorIdentifier, deviceIds }) => ({
    app_id: appIdentifier,
    sor_id: sorIdentifier,
    installations: deviceIds.map((id) => ({ device_id: id })),
  }));
}

function showValue(valueType: ValueType, { value, elements }: ProfileValue): unknown {
  if (elements || value === null) return elements;
  if (typeof value === 'number') return new Date(value).toISOString();
  switch (valueType) {
    case 'Number':
      return rawNumber(value);
    case 'Boolean':
      return value === 'true';
    default:
      return value;
  }
}

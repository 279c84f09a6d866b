/** Selects the attributes that profiles show. */
import type { z } from 'zod';
import type * as api from '../../api/attributes/customer-profiles.ts';
import { refuse } from '../../domain/core/refusal.ts';
import { type CustomerAttribute, listCustomerAttributesOf } from '../../store/attributes/customer-attributes.ts';
import type { ValueSelection } from '../../store/attributes/profile-values.ts';
import { listSors } from '../../store/attributes/systems-of-records.ts';
import type { Queryable } from '../../store/core/database.ts';

export type ProfileListQuery = z.output<typeof api.profileListQuery>;

/** Refuses a parameter. `why` goes into the messages; `message` has the reference's words. */
export function refuseParam(name: keyof ProfileListQuery, why: string): never {
  const message = `Param ${name} is not valid`;
  return refuse(400, '400', message, {
    messages: [{ element: name, severity: 'error', message: why }],
    errors: [`${name}: ${why}`],
  });
}

export type ProfileSor = { name: string; attributes: CustomerAttribute[] };

export type ProfileSelection = { sors: ProfileSor[]; values: ValueSelection };

type Asked = { sor_identifiers?: string[] | undefined; attribute_keys?: string[] | undefined };

/** Returns requested SoRs and attributes, by default all. `global` is always a member. Refuses unknown SoRs. */
export async function findProfileSelection(
  db: Queryable,
  entityId: number,
  { sor_identifiers: identifiers, attribute_keys: keys }: Asked,
): Promise<ProfileSelection> {
  const all = await listSors(db, entityId, ['global', 'app', 'custom']);
  const known = new Set(['global', ...all.map(({ identifier }) => identifier)]);
  if (identifiers?.some((identifier) => !known.has(identifier))) {
    refuseParam('sor_identifiers', 'names a System of Records that is unknown');
  }
  const asked = all.filter(
    ({ type, identifier }) =>
      !identifiers || identifiers.includes(identifier) || (type === 'global' && identifiers.includes('global')),
  );
  const attributes = (
    await listCustomerAttributesOf(
      db,
      entityId,
      asked.map(({ id }) => id),
    )
  ).filter(({ key }) => !keys || keys.includes(key));
  const sors = asked
    .map(({ id, type, identifier }) => ({
      name: type === 'global' ? 'global' : identifier,
      attributes: attributes.filter(({ sorId }) => sorId === id),
    }))
    .filter((sor) => !keys || sor.attributes.length > 0 || sor.name === 'global');
  if (!sors.some(({ name }) => name === 'global')) sors.unshift({ name: 'global', attributes: [] });
  return { sors, values: attributes };
}

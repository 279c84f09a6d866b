import { randomBytes } from 'node:crypto';
import { RIGHTS, type Right } from '../../../domain/accounts/rights.ts';
import type { ValueType } from '../../../domain/attributes/attribute-value.ts';
import { type Entity, insertEntity } from '../../../store/accounts/entities.ts';
import { insertToken } from '../../../store/accounts/tokens.ts';
import { insertMembership, insertUser, type User } from '../../../store/accounts/users.ts';
import { type CustomerAttribute, insertCustomerAttribute } from '../../../store/attributes/customer-attributes.ts';
import { insertCustomSor, type SorView, viewSors } from '../../../store/attributes/systems-of-records.ts';
import { write } from '../../../store/core/database.ts';
import type { TestStore } from './database.ts';
import { rememberSecret } from './people.ts';

export type World = {
  entity: Entity;
  user: User;
  /** A token of the user in the entity, with every right unless told otherwise. */
  token: string;
  sor: SorView;
  apiKey: string;
  /** By key: one attribute of each type, and `retired`, which is disabled. */
  attributes: Record<string, CustomerAttribute>;
};

/** Keys and types of the attributes that a world's SoR has. */
const ATTRIBUTES: [string, ValueType][] = [
  ['plan', 'String'],
  ['score', 'Number'],
  ['vip', 'Boolean'],
  ['born', 'Date'],
  ['seen', 'Datetime'],
  ['tags', 'Set'],
];

/** The hash of a password that is written nowhere, as the service stores it. */
const HASH_OF_NO_PASSWORD =
  '$argon2id$v=19$m=19456,t=2,p=1$mtolDWJg7K5iWd6FcuWnGw$pyyUe1fTTe9GGOIo9EgAHdx2Ny/3Z2FoCj0zRTb1iCU';

/** An entity with a user, a token, and a SoR with an attribute of each type. */
export async function makeWorld(
  { db, secrets }: TestStore,
  { rights = RIGHTS, admin = true }: { rights?: readonly Right[]; admin?: boolean } = {},
): Promise<World> {
  return write(db, async (tx) => {
    const entity = await insertEntity(tx, secrets, `Entity ${randomBytes(4).toString('hex')}`);
    const email = `user-${randomBytes(6).toString('hex')}@example.com`;
    const user = await insertUser(tx, { email, passwordHash: HASH_OF_NO_PASSWORD, preferedEntityId: entity.id });
    await insertMembership(tx, { userId: user.id, entityId: entity.id, rights: [...rights], admin });
    const sor = await insertCustomSor(tx, secrets, entity.id, 'CRM', user.id);
    const attributes: World['attributes'] = {};
    for (const [key, valueType] of ATTRIBUTES) {
      attributes[key] = (await insertCustomerAttribute(tx, entity.id, sor.id, { key, label: key, valueType }))!;
    }
    const token = await insertToken(tx, user.id, entity.id, 1);
    rememberSecret(token);
    const [view] = await viewSors(tx, secrets, entity.id, [sor]);
    rememberSecret(view!.apiKeys[0]!);
    return { entity, user, token, sor: view!, apiKey: view!.apiKeys[0]!, attributes };
  });
}

/** A token of another user of the entity, with these rights alone. */
export async function tokenWith({ db }: TestStore, { entity }: World, rights: readonly Right[]): Promise<string> {
  return write(db, async (tx) => {
    const email = `user-${randomBytes(6).toString('hex')}@example.com`;
    const user = await insertUser(tx, { email, passwordHash: HASH_OF_NO_PASSWORD, preferedEntityId: entity.id });
    await insertMembership(tx, { userId: user.id, entityId: entity.id, rights: [...rights], admin: false });
    const token = await insertToken(tx, user.id, entity.id, 1);
    rememberSecret(token);
    return token;
  });
}

import { hashesOf } from './people-keys.ts';
import type { PersonalDataPlace } from './place.ts';

export const tombstones: PersonalDataPlace = {
  name: 'tombstones',
  columns: ['customer_hash'],
  otherColumns: ['entity_id', 'raised_at'],
  foundBy: 'customer_hash: it is what keeps an erased person erased',
  count: async () => 0,
  async* export({ db, secrets }, entityId, people) {
    const { rows } = await db.query(
      'SELECT raised_at FROM tombstones WHERE entity_id = $1 AND customer_hash = ANY ($2::bytea[])',
      [entityId, hashesOf(secrets, entityId, people)]);
    yield* rows;
  },
  erase: null,
};

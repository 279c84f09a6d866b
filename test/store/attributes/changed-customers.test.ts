import { expect, it } from 'vitest';
import { listChangedCustomers } from '../../../store/attributes/changed-customers.ts';
import { write } from '../../../store/core/database.ts';
import { testStore } from '../../harness/core/database.ts';
import { makeWorld } from '../../harness/core/world.ts';

it('a page looks at fewer customers where each may have a thousand values, and the walk comes to all of them', async () => {
  const store = await testStore();
  const { entity, sor, attributes } = await makeWorld(store);
  await store.db.query(
    `INSERT INTO customers SELECT $1, 0, 'a' || lpad(n::text, 4, '0') FROM generate_series(1, 2500) n`,
    [entity.id],
  );
  await store.db.query(
    `INSERT INTO attribute_values (entity_id, sor_id, customer_type, attribute_id, customer_id, changed_at, string_value)
     VALUES ($1, $2, 0, $3, 'a2500', now(), 'x')`,
    [entity.id, sor.id, attributes.plan!.id],
  );
  const unused = Array.from({ length: 999 }, (_, at) => ({
    id: 1_000_000 + at,
    sorId: sor.id,
    valueType: 'String' as const,
  }));
  const moment = (ms: number) => new Date(Date.now() + ms).toISOString();
  const walk = {
    since: moment(-60_000),
    upTo: moment(0),
    filter: { customerType: null, customerIds: null },
    selection: [attributes.plan!, ...unused],
  };
  const page = (after: { customerId: string; customerType: 'user_id' } | null) =>
    write(store.db, (tx) => listChangedCustomers(tx, entity.id, walk, { after }, 100));
  const after = { customerId: 'a2000', customerType: 'user_id' } as const;
  expect(await page(null)).toEqual({ changed: [], next: { after } });
  expect(await page(after)).toMatchObject({ changed: [{ customerId: 'a2500' }], next: null });
});

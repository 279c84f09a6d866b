import { about, call, type Draw, list, type LifeOperations, make, read, remove } from '../life-operation.ts';

/** Systems of Records, attributes and profiles. */

const customer = (draw: Draw) => ({ customer_id: draw.person().userId, customer_type: 'user_id' });

export const attributeOperations: LifeOperations = {
  viewSystemOfRecord: read('sor'),
  createSystemOfRecord: make({ kind: 'sor' }, (draw) => ({ body: { name: draw.name('Loyalty') } })),
  renameSystemOfRecord: about('sor', (draw) => ({ body: { name: draw.name('Renamed') } })),
  deleteSystemOfRecord: remove('sor'),
  disableSystemOfRecord: { call: (draw) => ({ item: draw.spare('sor') }) },
  enableSystemOfRecord: { call: (draw) => ({ item: draw.spare('sor') }) },
  viewNotifyEmails: read('sor'),
  updateNotifyEmails: about('sor', () => ({ body: { notify_emails: ['data@example.com'] } })),
  viewCustomerAttribute: about('attribute'),
  createCustomerAttribute: make({ kind: 'attribute' }, (draw) => ({
    body: {
      sor_id: draw.item('sor').id,
      key: `colour_${draw.life.nextOrdinal()}`,
      value_type: draw.of(['String', 'Number', 'Set']),
      sensitive: draw.chance(0.5),
    },
  })),
  updateCustomerAttribute: {
    call: (draw) => ({
      item: draw.spare('attribute'),
      body: {
        label: draw.name('Label'),
        disabled: draw.chance(0.5),
        ...(draw.chance(0.2) && { value_type: draw.of(['String', 'Number']) }),
      },
    }),
  },
  deleteCustomerAttribute: remove('attribute'),
  readAttributeValues: about('sor', (draw, { id }) => ({
    query: { sor_id: id, ...customer(draw), with_validity_dates: true },
  })),
  readCustomerAttributeValues: about('sor', (draw, { id }) => ({ query: { sor_id: id, ...customer(draw) } })),
  listCustomerProfiles: list((draw) => ({
    query: draw.of([
      {},
      { customer_ids: draw.person().userId },
      { updated_since: new Date(Date.now() - 60_000).toISOString() },
    ]),
  })),
  viewCustomerProfile: call((draw) => ({ params: { customer_id: draw.person().userId } }), { expects: 'ok' }),
};

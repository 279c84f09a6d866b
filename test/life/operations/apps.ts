import {
  about,
  type Answer,
  type Call,
  type Draw,
  list,
  type LifeOperation,
  type LifeOperations,
  make,
  mustHold,
  read,
  remove,
} from '../life-operation.ts';

/** Apps, groups, keys, certificates, labels and the data wallet. */

/** The five operations of a part of a wallet. `name` is what the operations are called after, `many` its list. */
function walletPart(name: string, many: string, body: (draw: Draw) => object): LifeOperations {
  const kind = `wallet ${name}`;
  const change: LifeOperation = about(kind, (draw) => ({ body: body(draw) }));
  return {
    [`list${many}`]: read('app'),
    [`create${name}`]: make({ kind, within: 'app' }, (draw) => ({ body: body(draw) })),
    [`view${name}`]: about(kind),
    [`update${name}`]: change,
    [`patch${name}`]: change,
    [`delete${name}`]: remove(kind),
  };
}

/** The parts of an app's devices add up to all of them. */
function checkOutcomes({ result }: Answer, _draw: Draw, { item }: Call): void {
  const { devices, ...parts } = (result as { devices: Record<string, number> }).devices;
  const sum = Object.values(parts).reduce((all, count) => all + count, 0);
  mustHold(devices === sum, `app ${item!.id}: ${devices} devices, of which ${sum} are reached by pushes or not`);
}

/** Technical names have letters alone. */
const technical = (draw: Draw) =>
  `part_${[...String(draw.life.nextOrdinal())].map((digit) => 'abcdefghij'[Number(digit)]).join('')}`;
const says = (draw: Draw) => ({ technical_name: technical(draw), title: { en: 'Another' } });
const languages = () => ({ body: { languages: [{ identifier: 'fr' }, { identifier: 'en' }] } });

export const appOperations: LifeOperations = {
  listApps: list((draw) => ({ query: draw.chance(0.5) ? { unwanted: true } : {} })),
  viewApp: read('app'),
  createApp: make({ kind: 'app' }, (draw) => ({
    body: {
      name: draw.name('App'),
      package_name: `com.example.app${draw.life.nextOrdinal()}`,
      app_type: 'Android App',
    },
  })),
  updateApp: {
    call(draw) {
      const item = draw.spare('app');
      const named = {
        name: draw.name('App'),
        package_name: `com.example.app${draw.life.nextOrdinal()}`,
        app_type: 'Android App',
      };
      return { item, body: { ...named, session_timeout: draw.of([60, 120]) } };
    },
  },
  viewAppGroup: read('app group'),
  createAppGroup: make({ kind: 'app group' }, (draw) => ({
    body: { name: draw.name('Group'), apps: [draw.item('app').id] },
  })),
  updateAppGroup: about('app group', (draw) => ({ body: { name: draw.name('Group'), apps: [draw.item('app').id] } })),
  deleteAppGroup: remove('app group'),
  listApiKeys: read('app'),
  viewApiKey: read('api key'),
  createApiKey: make({ kind: 'api key', within: 'app' }, () => ({ body: {} })),
  updateApiKey: { call: (draw) => ({ item: draw.spare('api key'), body: { revoked: draw.chance(0.5) } }) },
  listUserTokenKeys: read('app'),
  createUserTokenKey: make({ kind: 'user token key', within: 'app' }, () => ({})),
  deleteUserTokenKey: remove('user token key'),
  listPushCertificates: read('app'),
  viewPushCertificate: about('push certificate'),
  // The sandbox needs no certificate: what a walk sends is none.
  createPushCertificate: about('app', () => ({ body: { x509_pem: 'no certificate', pkey_pem: 'no key' } })),
  updatePushCertificate: about('push certificate', () => ({ body: { revoked: true } })),
  viewPushProvider: about(
    'app',
    (draw, { id }) => ({ params: { app_identifier: id, platform: draw.of(['ios', 'android', 'web']) } }),
    { expects: 'ok' },
  ),
  updatePushProvider: about('app', (draw, { id }) => ({
    params: { app_identifier: id, platform: draw.of(['ios', 'android', 'web']) },
    body: { provider: 'sandbox' },
  })),
  deletePushProvider: about('app', (draw, { id }) => ({
    params: { app_identifier: id, platform: draw.of(['ios', 'android', 'web']) },
  })),
  checkPush: about('app', () => ({ body: {} })),
  viewPushOutcomes: { ...about('app', () => ({ query: { days: 7 } }), { expects: 'ok' }), done: checkOutcomes },
  createLabel: make({ kind: 'label', id: ({ name }: { name: string }) => name }, (draw) => ({
    body: { name: draw.name('Label') },
  })),
  renameLabel: {
    call(draw) {
      const item = draw.spare('label');
      item.isGone = true;
      return { item, body: { new_name: draw.name('Label') } };
    },
    done({ result }, { entity }, { item }) {
      entity.items('label').delete(item!);
      entity.add('label', { id: (result as { name: string }).name });
    },
  },
  deleteLabel: remove('label'),
  viewWalletLanguages: read('app'),
  updateWalletLanguages: about('app', languages),
  patchWalletLanguages: about('app', languages),
  ...walletPart('LegalText', 'LegalTexts', (draw) => ({ ...says(draw), text: { en: 'Text' } })),
  ...walletPart('DataCategory', 'DataCategories', (draw) => ({ ...says(draw), description: { en: 'What it is' } })),
  ...walletPart('Recipient', 'Recipients', (draw) => ({
    technical_name: technical(draw),
    display_name: 'Another',
    data_elements: [],
  })),
  ...walletPart('Purpose', 'Purposes', (draw) => ({
    ...says(draw),
    description: { en: 'What for' },
    data_elements: [],
  })),
};

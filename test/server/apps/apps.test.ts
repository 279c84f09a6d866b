import { beforeAll, describe, expect, test } from 'vitest';
import { PRIVACY_SETTINGS } from '../../../domain/apps/privacy-settings.ts';
import { insertToken } from '../../../store/accounts/tokens.ts';
import { insertMembership, insertUser } from '../../../store/accounts/users.ts';
import { write } from '../../../store/core/database.ts';
import { rememberSecret } from '../../harness/core/people.ts';
import { makeWorld, tokenWith, type World } from '../../harness/core/world.ts';
import { useServer } from '../http/use-server.ts';

const { store, server, world } = useServer();

const call = (method: 'GET' | 'POST' | 'PUT', path = '', body?: object, own: World = world) =>
  server.call(method, `/api/apps${path}`, { token: own.token, ...(body ? { body } : {}) });
let number = 0;
const packageName = () => `com.example.app${(number += 1)}`;
const create = async (body: object = {}, own = world) => {
  const { status, body: answer } = await call(
    'POST',
    '',
    { name: 'Shop', package_name: packageName(), app_type: 'iOS App', ...body },
    own,
  );
  expect([status, answer.error_message]).toEqual([200, undefined]);
  return answer.result as { identifier: string; package_name: string; sor_id: string };
};
const view = async (identifier: string, own = world) =>
  (await call('GET', `/${identifier}`, undefined, own)).body.result.apps[0];
const change = (identifier: string, body: object) => call('PUT', `/${identifier}`, { app_type: 'iOS App', ...body });
const fault = ({ status, body }: { status: number; body: { messages?: { element: string }[] } }) => [
  status,
  body.messages?.map(({ element }) => element),
];

const NO_ICON = { thumb: null, medium: null, large: null };
const NEW_PRIVACY = { gdpr_emails: [], gdpr_approval: true, verified_users: false, outcomes_connection: null };
const NEW = {
  identifier: expect.stringMatching(/^app_/),
  name: 'Shop',
  package_name: expect.any(String),
  store_id: null,
  sku: null,
  localizations: [{ language: 'en', original_name: 'Shop', name: 'Shop', description: null }],
  platform: 'iOS App',
  platform_id: 'ios',
  is_qa: false,
  has_usage_data: false,
  has_pem_file: false,
  has_api_key: false,
  last_sdk_version: null,
  children_app_id: [],
  parent_app_id: null,
  domains: [],
  downloads: 0,
  downloads_last_report_date: null,
  mau: 0,
  has_unwanted_status: false,
  default_tz: 'Europe/Paris',
  newest_version: null,
  last_version_status: null,
  last_update: null,
  icon: NO_ICON,
  cv_icon: NO_ICON,
  statuses: [],
  current_live_version: null,
  current_version: null,
  primary_category: null,
  secondary_category: null,
  session_timeout: 120,
  gdpr_approval: true,
  store_fetched: false,
  sor_id: expect.stringMatching(/^sor_/),
  revision: 1,
  verified_users: false,
  quiet_hours: null,
  send_rate: null,
  outcomes_connection: null,
};

describe('an app', () => {
  test('is created with what the reference shows then, and viewed with all the rest', async () => {
    const { identifier, ...created } = await create();
    expect({ identifier, ...created }).toEqual(NEW);
    expect((await call('GET', `/${identifier}`)).body.result).toEqual({
      apps: [
        {
          ...NEW,
          fcm_key: null,
          crm_syncable: false,
          inbox_days_to_live: null,
          rate_limit: { message_limit: null, period: null },
          gdpr_emails: [],
          gdpr_emails_not_mailed: [],
          app_groups: [],
          app_icon: null,
        },
      ],
    });
  });

  test('shows all that it was given, in creation and in a change', async () => {
    const given = {
      store_id: '123',
      sku: 'SHOP',
      qa: true,
      default_tz: 'Asia/Tokyo',
      fcm_key: 'AAAA:key',
      crm_syncable: true,
      inbox_days_to_live: 30,
      rate_limit: { message_limit: 3, period: 86_400 },
      gdpr_emails: ['privacy@example.com'],
      session_timeout: 15,
      gdpr_approval: false,
      localizations: [{ language: 'fr', original_name: 'Boutique', name: 'Shop', description: 'Une boutique' }],
      icon: { thumb: 'https://example.com/t.png' },
      cv_icon: { large: 'https://example.com/l.png' },
      primary_category: 'Shopping',
      secondary_category: 'Lifestyle',
      statuses: [{ cdate: 100, state: 'live', version_number: '1.0' }],
      verified_users: true,
      quiet_hours: { start: '22:30', end: '07:00', timezone: 'Asia/Tokyo' },
      send_rate: 100,
    };
    rememberSecret(given.fcm_key);
    const { qa, icon, cv_icon, ...others } = given;
    const shown = {
      ...others,
      is_qa: qa,
      icon: { ...NO_ICON, ...icon },
      cv_icon: { ...NO_ICON, ...cv_icon },
      app_icon: icon.thumb,
    };
    expect(await view((await create(given)).identifier)).toMatchObject(shown);
    const { identifier } = await create();
    const named = { name: 'Boutique', package_name: packageName() };
    expect((await change(identifier, { ...given, ...named })).body.result.apps).toMatchObject([{ ...shown, ...named }]);
    const nothing = {
      store_id: null,
      sku: null,
      fcm_key: null,
      rate_limit: null,
      icon: null,
      inbox_days_to_live: null,
      localizations: [],
    };
    const unlimited = { quiet_hours: null, send_rate: null };
    expect((await change(identifier, { ...nothing, ...unlimited })).body.result.apps).toMatchObject([
      {
        ...shown,
        ...nothing,
        ...unlimited,
        rate_limit: { message_limit: null, period: null },
        icon: NO_ICON,
        app_icon: null,
        localizations: [{ language: 'en', original_name: 'Boutique', name: 'Boutique', description: null }],
      },
    ]);
  });

  test('shows which of gdpr_emails get no mail, being of no member with gdpr_data_manage', async () => {
    const [elsewhere, { email }] = [await makeWorld(store), world.user];
    const gdpr_emails = [email.toUpperCase(), 'nobody@example.com', elsewhere.user.email];
    const { identifier } = await create({ gdpr_emails });
    expect(await view(identifier)).toMatchObject({ gdpr_emails, gdpr_emails_not_mailed: gdpr_emails.slice(1) });
  });

  test('keeps what a change leaves out', async () => {
    const given = { sku: 'KEPT', gdpr_emails: ['privacy@example.com'], rate_limit: { message_limit: 3, period: 60 } };
    const { identifier } = await create(given);
    expect((await change(identifier, { name: 'Renamed' })).body.result.apps).toMatchObject([
      { name: 'Renamed', ...given },
    ]);
  });

  test('is not changed from an older revision, and the refusal says what to do', async () => {
    const { identifier } = await create();
    const theirs = await change(identifier, { name: 'Theirs', revision: 1 });
    expect(theirs.body.result.apps).toMatchObject([{ name: 'Theirs', revision: 2 }]);
    const late = await change(identifier, { name: 'Mine', revision: 1 });
    expect([late.status, late.body.status, late.body.error_message]).toEqual([
      409,
      'conflict',
      `The app ${identifier} has been changed since: it has revision 2, and your change is of revision 1. Get it again, ` +
        'make your change there, and send it with revision 2',
    ]);
    expect(late.body).toMatchObject({ changed_by: world.user.email, changed_at: expect.any(String) });
    expect(await view(identifier)).toMatchObject({ name: 'Theirs', revision: 2 });
    expect((await change(identifier, { name: 'Theirs' })).body.result.apps).toMatchObject([{ revision: 2 }]);
    const both = await Promise.all(['A', 'B'].map((name) => change(identifier, { name, revision: 2 })));
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
    expect((await change(identifier, { name: 'Mine' })).body.result.apps).toMatchObject([
      { name: 'Mine', revision: 4 },
    ]);
  });

  test('may be sent as a web form', async () => {
    const form = new URLSearchParams([
      ['name', 'Form'],
      ['package_name', packageName()],
      ['app_type', 'Web App'],
      ['domains', 'www.example.com'],
      ['qa', 'true'],
      ['gdpr_emails[]', 'a@example.com'],
      ['gdpr_emails[]', 'b@example.com'],
      ['rate_limit', '{"message_limit":1,"period":60}'],
      ['statuses', '[{"cdate":1,"state":"live","version_number":"1"}]'],
    ]).toString();
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const { body } = await server.call('POST', '/api/apps', { token: world.token, body: form, headers });
    expect(await view(body.result.identifier)).toMatchObject({
      is_qa: true,
      domains: ['www.example.com'],
      gdpr_emails: ['a@example.com', 'b@example.com'],
      rate_limit: { message_limit: 1, period: 60 },
      current_version: '1',
    });
  });

  test.each([
    ['iOS App', 'ios'],
    ['Android App', 'android'],
    ['Web App', 'web'],
  ])('that is a %s has the platform_id %s', async (app_type, platform_id) => {
    expect(await create({ app_type })).toMatchObject({ platform: app_type, platform_id });
  });

  test('has domains as a Web App alone', async () => {
    const domains = ['www.example.com', '*.example.org', 'localhost:3000'];
    const { identifier } = await create({ app_type: 'Web App', domains });
    expect(await view(identifier)).toMatchObject({ domains });
    const [changed] = (await change(identifier, { app_type: 'Android App', domains })).body.result.apps;
    expect(changed).toMatchObject({ platform: 'Android App', domains: [] });
    expect((await create({ app_type: 'iOS App', domains: ['https://no host'] })) as object).toMatchObject({
      domains: [],
    });
    expect(
      fault(
        await call('POST', '', {
          name: 'x',
          package_name: packageName(),
          app_type: 'Web App',
          domains: ['ok.example', 'https://no'],
        }),
      ),
    ).toEqual([400, ['domains.1']]);
  });

  test('shows versions by the newest of its statuses', async () => {
    const statuses = [
      { cdate: 300, state: 'prepareForSubmission', version_number: '2.1' },
      { cdate: 200, state: 'live', version_number: '2.0' },
      { cdate: 100, state: 'live', version_number: '1.0' },
    ];
    expect(await create({ statuses })).toMatchObject({
      statuses,
      newest_version: '2.1',
      current_version: '2.1',
      current_live_version: '2.0',
      last_version_status: 'prepareForSubmission',
      last_update: 300,
      has_unwanted_status: false,
    });
  });

  test("that is unknown, or another entity's, is not found", async () => {
    const stranger = await makeWorld(store);
    const { identifier } = await create({}, stranger);
    const missing = { success: false, status: 'not_found', error_message: 'App not found', message: 'App not found' };
    for (const [method, path] of [
      ['GET', '/app_x'],
      ['GET', `/${identifier}`],
      ['PUT', `/${identifier}`],
    ] as const) {
      const { status, body } = await call(
        method,
        path,
        method === 'PUT' ? { app_type: 'iOS App', name: 'Mine' } : undefined,
      );
      expect([status, body]).toEqual([404, missing]);
    }
  });

  test('leaves a trace of each change in the audit log', async () => {
    const { identifier } = await create();
    await change(identifier, { name: 'Traced', sku: 'T' });
    const { rows } = await store.db.query<{ action: string; details: object }>(
      'SELECT action, details FROM audit_log WHERE entity_id = $1 AND subject = $2 ORDER BY id',
      [world.entity.id, identifier],
    );
    expect(rows).toEqual([
      { action: 'create', details: { app_type: 'iOS App', store_fetched: false } },
      { action: 'update', details: { changed: 'name sku' } },
    ]);
  });
});

describe('a package name', () => {
  const taken = (name: string) => ({
    success: false,
    status: 400,
    error_message: `Package name ${name} has already been taken`,
    message: `Package name ${name} has already been taken`,
    errors: [`Package name ${name} has already been taken`],
    messages: [{ element: 'package_name', severity: 'error', message: `Package name ${name} has already been taken` }],
  });

  test('is taken within the entity, whatever the platform', async () => {
    const { package_name } = await create();
    const again = await call('POST', '', { name: 'Other', package_name, app_type: 'Android App' });
    expect([again.status, again.body]).toEqual([400, taken(package_name)]);
    const other = await create();
    const changed = await change(other.identifier, { package_name });
    expect([changed.status, changed.body]).toEqual([400, taken(package_name)]);
    expect((await change(other.identifier, { package_name: other.package_name })).status).toBe(200);
    expect(await create({ package_name }, await makeWorld(store))).toMatchObject({ package_name });
  });

  test('is given to one of those who ask for it at once', async () => {
    const package_name = packageName();
    const replies = await Promise.all(
      [1, 2, 3].map(() => call('POST', '', { name: 'Race', package_name, app_type: 'iOS App' })),
    );
    expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400, 400]);
    expect(replies.find(({ status }) => status === 400)!.body).toEqual(taken(package_name));
  });

  test.each([['a b'], [' com.example'], ['com.example\n'], ['']])("can't be %j", async (package_name) => {
    expect(fault(await call('POST', '', { name: 'x', package_name, app_type: 'iOS App' }))).toEqual([
      400,
      ['package_name'],
    ]);
  });
});

describe('a blank app_type', () => {
  const blank = "App type can't be blank";
  const messages = [{ element: 'app_type', severity: 'error', message: blank }];

  test.each([[{}], [{ app_type: '' }], [{ app_type: null }], [{ app_type: ' ' }]])(
    "as %j is told in the reference's words",
    async (given) => {
      const refused = await call('POST', '', { name: 'x', package_name: packageName(), ...given });
      expect([refused.status, refused.body]).toEqual([
        400,
        {
          success: false,
          status: 400,
          error_message: blank,
          message: blank,
          messages,
          errors: [blank],
        },
      ]);
      const { identifier } = await create();
      expect((await call('PUT', `/${identifier}`, { name: 'x', ...given })).body).toEqual(refused.body);
    },
  );

  test('and a package name that is taken are told together', async () => {
    const { package_name } = await create();
    const { body } = await call('POST', '', { name: 'x', package_name });
    const message = `Package name ${package_name} has already been taken`;
    expect(body).toMatchObject({
      status: 400,
      error_message: message,
      errors: [message, blank],
      messages: [{ element: 'package_name', severity: 'error', message }, ...messages],
    });
  });
});

describe('bad input', () => {
  test('a new app without a name and a package name is refused by both', async () => {
    expect(fault(await call('POST', '', { app_type: 'iOS App' }))).toEqual([400, ['name', 'package_name']]);
  });

  test.each([
    ['app_type', 'Desktop App'],
    ['default_tz', 'Paris'],
    ['session_timeout', 14],
    ['session_timeout', 3_601],
    ['inbox_days_to_live', 0],
    ['rate_limit.period', { message_limit: 1 }],
    ['rate_limit.message_limit', { period: 60 }],
    ['rate_limit.limit', { limit: 60 }],
    ['gdpr_emails.1', ['a@example.com', 'b']],
    ['statuses.0.state', [{ cdate: 1, state: 'on hold', version_number: '1' }]],
    ['statuses.0.cdate', [{ cdate: 'today', state: 'live', version_number: '1' }]],
    ['icon.thumb', { thumb: 'javascript:alert(1)' }],
    ['icon.thumb', { thumb: 'https://example.com/\0' }],
    ['cv_icon.large', { large: 'https://example.com/\ud800' }],
    ['localizations.0.language', [{ language: 'english', original_name: 'x', name: 'x' }]],
    ['quiet_hours.start', { start: '24:00', end: '07:00' }],
    ['quiet_hours.end', { start: '22:00', end: '22:00' }],
    ['quiet_hours.timezone', { start: '22:00', end: '07:00', timezone: 'Paris' }],
    ['quiet_hours.end', { start: '22:00', end: '7:00' }],
    ['quiet_hours.from', { from: '22:00', start: '22:00', end: '07:00' }],
    ['send_rate', 0],
    ['send_rate', 100_001],
    ['verified_users', 'yes'],
    ['parent_identifier', 'app_none'],
    ['app_groups.0', ['grp_none']],
    ['store_id', ''],
  ])('%s is refused by its name: %j', async (element, value) => {
    const member = element.split('.')[0]!;
    const body = { name: 'x', package_name: packageName(), app_type: 'iOS App', [member]: value };
    expect(fault(await call('POST', '', body))).toEqual([400, [element]]);
    expect(fault(await change((await create()).identifier, { [member]: value }))).toEqual([400, [element]]);
  });
});

describe('parents', () => {
  test('have children, in two levels', async () => {
    const parent = await create();
    const child = await create({ parent_identifier: parent.identifier });
    expect(await view(parent.identifier)).toMatchObject({ children_app_id: [child.identifier], parent_app_id: null });
    expect(await view(child.identifier)).toMatchObject({ children_app_id: [], parent_app_id: parent.identifier });
    const other = await create();
    for (const [identifier, parent_identifier] of [
      [other.identifier, child.identifier],
      [parent.identifier, other.identifier],
      [other.identifier, other.identifier],
      [other.identifier, (await create({}, await makeWorld(store))).identifier],
    ])
      expect(fault(await change(identifier!, { parent_identifier }))).toEqual([400, ['parent_identifier']]);
    await change(child.identifier, { parent_identifier: null });
    expect((await change(parent.identifier, { parent_identifier: other.identifier })).status).toBe(200);
  });

  test('stay in two levels when two are given at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [a, b, c] = [await create(), await create(), await create()];
      const replies = await Promise.all([
        change(a.identifier, { parent_identifier: b.identifier }),
        change(b.identifier, { parent_identifier: c.identifier }),
      ]);
      expect(replies.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 400]);
    }
  });
});

describe('without gdpr_data_manage', () => {
  const own = {} as World;
  const app = (more: object) => ({ name: 'Shop', package_name: packageName(), app_type: 'iOS App', ...more });
  /** A value of each setting that decides who receives personal data, other than that of a new app. */
  const others: Record<(typeof PRIVACY_SETTINGS)[number], unknown> = {
    gdpr_emails: ['me@example.com'],
    gdpr_approval: false,
    verified_users: true,
    outcomes_connection: null,
  };
  let trusted: World;
  beforeAll(async () => {
    Object.assign(own, await makeWorld(store, { rights: ['apps', 'apps_manage', 'sor_manage'] }));
    trusted = { ...own, token: await tokenWith(store, own, ['apps', 'apps_manage', 'gdpr_data_manage']) };
    const settings = { url: 'https://hooks.example.com/', secret: 'secret-of-the-outcomes-1234567890' };
    rememberSecret(settings.secret);
    const body = { name: 'Outcomes', connector: 'webhook', settings };
    const connected = await server.call('POST', '/api/connections', { token: own.token, body });
    others.outcomes_connection = connected.body.result.identifier;
  });

  test.each(PRIVACY_SETTINGS)(
    'an app is neither made with another %s nor given it; with the right it is',
    async (member) => {
      const { identifier } = await create({}, own);
      const asked = { [member]: others[member] };
      const all = async (as: World) =>
        [
          await call('POST', '', app(asked), as),
          await call('PUT', `/${identifier}`, { app_type: 'iOS App', name: 'Renamed', ...asked }, as),
        ].map(({ status, body }) => [status, body.status, body.message]);
      const refused = [403, 'forbidden', `This needs the right gdpr_data_manage: it has ${member}`];
      expect(await all(own)).toEqual([refused, refused]);
      expect(await view(identifier, own)).toMatchObject({
        name: 'Shop',
        gdpr_emails: [],
        gdpr_approval: true,
        verified_users: false,
      });
      expect((await all(trusted)).map(([status]) => status)).toEqual([200, 200]);
      expect(await view(identifier, own)).toMatchObject({ name: 'Renamed', ...asked });
      // It can't be taken back, either.
      const back = { app_type: 'iOS App', [member]: NEW_PRIVACY[member] };
      expect((await call('PUT', `/${identifier}`, back, own)).status).toBe(403);
    },
  );

  test('the connection that gets outcomes stays as it is, and no key for user tokens is made', async () => {
    const { identifier } = await create({ name: 'Delivers', outcomes_connection: others.outcomes_connection }, trusted);
    const path = `/api/connections/${String(others.outcomes_connection)}`;
    const settings = { url: 'https://elsewhere.example.com/', secret: 'another-secret-of-the-outcomes-1234' };
    rememberSecret(settings.secret);
    const refused = [
      await server.call('PUT', path, { token: own.token, body: { settings } }),
      await call('POST', `/${identifier}/user_token_keys`, {}, own),
    ];
    expect(refused.map(({ status, body }) => [status, body.message])).toEqual([
      [403, 'This needs the right gdpr_data_manage: it is the outcomes_connection of Delivers'],
      [403, 'This needs the right gdpr_data_manage'],
    ]);
    expect((await server.call('PUT', path, { token: own.token, body: { name: 'Renamed' } })).status).toBe(200);
    const token = await tokenWith(store, own, ['sor_manage', 'gdpr_data_manage']);
    expect((await server.call('PUT', path, { token, body: { settings } })).status).toBe(200);
  });

  test('an app may be sent them as they are', async () => {
    const asIs = NEW_PRIVACY;
    const { identifier } = await create(asIs, own);
    expect((await call('PUT', `/${identifier}`, { app_type: 'iOS App', name: 'Renamed', ...asIs }, own)).status).toBe(
      200,
    );
  });
});

describe('an app from a connected store account', () => {
  test('keeps what it has from there, and changes its name and parent', async () => {
    const parent = await create();
    const given = { store_fetched: true, store_id: '1', package_name: packageName(), gdpr_emails: ['a@example.com'] };
    const { identifier } = await create(given);
    expect(await view(identifier)).toMatchObject({ store_fetched: true });
    for (const [member, value] of [
      ['store_id', '2'],
      ['package_name', packageName()],
      ['sku', 'S'],
      ['qa', true],
      ['default_tz', 'UTC'],
      ['app_type', 'Android App'],
    ] as const)
      expect(fault(await change(identifier, { ...given, [member]: value }))).toEqual([400, [member]]);
    const changed = await change(identifier, { ...given, name: 'Renamed', parent_identifier: parent.identifier });
    expect(changed.body.result.apps).toMatchObject([
      { name: 'Renamed', parent_app_id: parent.identifier, store_fetched: true },
    ]);
    const web = await create({ app_type: 'Web App', store_fetched: true, domains: ['www.example.com'] });
    expect(fault(await change(web.identifier, { app_type: 'Web App', domains: [] }))).toEqual([400, ['domains']]);
  });

  test('changes the settings that no store has', async () => {
    const { identifier } = await create({ store_fetched: true, store_id: '1' });
    const group = (await server.call('POST', '/api/app_groups', { token: world.token, body: { name: 'Fetched' } })).body
      .result;
    const settings = {
      gdpr_emails: ['a@example.com'],
      rate_limit: { message_limit: 1, period: 60 },
      inbox_days_to_live: 3,
      fcm_key: 'AAAA:fetched',
      crm_syncable: true,
      session_timeout: 60,
      statuses: [{ cdate: 1, state: 'live', version_number: '1' }],
      icon: { ...NO_ICON, thumb: 'https://example.com/t.png' },
      cv_icon: NO_ICON,
      primary_category: 'Shopping',
      secondary_category: 'Lifestyle',
      localizations: [{ language: 'en', original_name: 'Shop', name: 'Shop', description: null }],
    };
    rememberSecret(settings.fcm_key);
    const { body } = await change(identifier, { ...settings, app_groups: [group.identifier] });
    expect(body.result.apps).toMatchObject([{ ...settings, app_groups: [{ identifier: group.identifier }] }]);
  });
});

describe('the list', () => {
  let own: World;
  beforeAll(async () => {
    own = await makeWorld(store);
  });
  const listed = async (query = '') =>
    (await call('GET', query, undefined, own)).body.result.apps as { identifier: string }[];

  test("leaves out what is removed or inactive, unless it is asked for, and another entity's always", async () => {
    await create();
    const status = (state: string, cdate = 10) => ({ cdate, state, version_number: '1' });
    const kept = [await create({}, own), await create({ statuses: [status('inactive', 9), status('live')] }, own)];
    const unwanted = [];
    for (const state of ['removedFromSale', 'developerRemovedFromSale', 'inactive']) {
      unwanted.push(await create({ statuses: [status(state), status('live', 9)] }, own));
    }
    const ids = (apps: { identifier: string }[]) => apps.map(({ identifier }) => identifier);
    expect(ids(await listed())).toEqual(ids(kept));
    expect(ids(await listed('?unwanted=false'))).toEqual(ids(kept));
    for (const query of ['?unwanted=true', '?unwanted'])
      expect(ids(await listed(query))).toEqual(ids([...kept, ...unwanted]));
    expect(await view(unwanted[0]!.identifier, own)).toMatchObject({ has_unwanted_status: true });
  });

  test('and an answer to a change that show the key to push by are written down', async () => {
    const fcm_key = 'AAAA:changed';
    rememberSecret(fcm_key);
    const { identifier } = await create({ fcm_key });
    expect((await change(identifier, { name: 'Same key' })).body.result.apps).toMatchObject([{ fcm_key }]);
    const { rows } = await store.db.query(
      'SELECT action, details FROM audit_log WHERE entity_id = $1 AND subject = $2 ORDER BY id',
      [world.entity.id, identifier],
    );
    expect(rows.slice(1)).toEqual([
      { action: 'update', details: { changed: 'name' } },
      { action: 'read', details: { fcm_key: true } },
    ]);
  });

  test('shows the key to push by to those who manage apps, and writes down that it did', async () => {
    own = await makeWorld(store);
    const fcm_key = 'AAAA:listed';
    rememberSecret(fcm_key);
    const { identifier } = await create({ fcm_key }, own);
    const reader = await write(store.db, async (tx) => {
      const user = await insertUser(tx, {
        email: 'reader-of-apps@example.com',
        passwordHash: '',
        preferedEntityId: own.entity.id,
      });
      await insertMembership(tx, { userId: user.id, entityId: own.entity.id, rights: ['apps'], admin: false });
      return insertToken(tx, user.id, own.entity.id, 1);
    });
    rememberSecret(reader);
    expect(await listed()).toMatchObject([{ fcm_key }]);
    expect((await server.call('GET', '/api/apps', { token: reader })).body.result.apps).toMatchObject([
      { identifier, fcm_key: null },
    ]);
    expect((await server.call('POST', '/api/apps', { token: reader, body: {} })).body.error_message).toContain(
      'apps_manage',
    );
    const { rows } = await store.db.query(
      'SELECT action, details FROM audit_log WHERE entity_id = $1 AND subject = $2 ORDER BY id DESC',
      [own.entity.id, identifier],
    );
    expect(rows.filter(({ action }) => action === 'read')).toEqual([{ action: 'read', details: { fcm_key: true } }]);
    const stored = await store.db.query<{ fcm_key: string }>('SELECT fcm_key FROM apps WHERE identifier = $1', [
      identifier,
    ]);
    expect(stored.rows[0]!.fcm_key).not.toContain('listed');
  });
});

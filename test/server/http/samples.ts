import type { FastifyInstance } from 'fastify';
import { hashPassword } from '../../../server/accounts/passwords.ts';
import { readPushCertificate } from '../../../server/apps/push-certificates.ts';
import type { Route } from '../../../server/http/route.ts';
import { type Entity, insertEntity } from '../../../store/accounts/entities.ts';
import { insertServiceToken } from '../../../store/accounts/service-tokens.ts';
import { insertMembership, insertUser, type User } from '../../../store/accounts/users.ts';
import { insertFunnel } from '../../../store/analytics/funnels.ts';
import { insertSegment } from '../../../store/analytics/segments.ts';
import type { App } from '../../../store/apps/apps.ts';
import { insertLabel } from '../../../store/apps/labels.ts';
import { insertPushCertificate } from '../../../store/apps/push-certificates.ts';
import { mergeAttributeValues, prepareChanges } from '../../../store/attributes/merge-attribute-values.ts';
import { insertAppSor, insertCustomSor } from '../../../store/attributes/systems-of-records.ts';
import { write } from '../../../store/core/database.ts';
import { asBytes } from '../../../store/core/files.ts';
import { insertFeedRequest } from '../../../store/feed/feed-requests.ts';
import { findOrInsertFileJob } from '../../../store/files/file-jobs.ts';
import { fileUrl } from '../../../store/files/file-link.ts';
import { insertImportErrors } from '../../../store/imports/import-errors.ts';
import { insertConnection, type SettingValues } from '../../../store/syncs/connections.ts';
import { insertEventDefinitions, listEventDefinitions } from '../../../store/tracking/event-definitions.ts';
import { onFileEnd } from '../../harness/core/clean-up.ts';
import { httpSource } from '../../harness/core/http-source.ts';
import { insertSampleApp } from '../../harness/apps/apps.ts';
import type { TestStore } from '../../harness/core/database.ts';
import { personId, rememberSecret } from '../../harness/core/people.ts';
import { makeWorld, type World } from '../../harness/core/world.ts';
import { ALL_EVENTS } from '../../harness/files/file-query.ts';
import { importForm, insertUpload } from '../../harness/imports/imports.ts';
import { ensureSampleMonths, sampleActivity } from '../../harness/tracking/sdk-samples.ts';
import { insertSampleApps, type SampleApps, wholeApp } from '../apps/sample-apps.ts';
import { sampleCertificate } from '../apps/sample-certificates.ts';
import { insertSampleWallet, type SampleWallet } from '../apps/sample-wallet.ts';
import { campaignBody, insertSampleCampaigns, type SampleCampaigns } from '../campaigns/sample-campaigns.ts';
import { anotherExporter, insertSampleExporter, type SampleExporter } from '../exports/sample-exporter.ts';
import { insertSampleArchive, type SampleArchive } from '../gdpr/sample-archive.ts';
import { insertSampleDeviceRequest, type SampleDeviceRequest } from '../gdpr/sample-device-request.ts';
import { insertSampleGdpr, type SampleGdpr } from '../gdpr/sample-gdpr.ts';
import { insertSampleSend, type SampleSend } from '../sends/sample-sends.ts';
import { anotherSync, insertSampleSync, type SampleSync } from '../syncs/sample-sync.ts';
import { basic } from '../tracking/sample-tracking.ts';
import { insertSampleLinks, type SampleLinks } from './sample-links.ts';

const PICTURE = Buffer.from('R0lGODlhAQABAAAAACwAAAAAAQABAAA=', 'base64');
let pictures: Promise<string> | undefined;

/** The address of a picture at a server that ends with the test file. */
function pictureAddress(): Promise<string> {
  if (pictures === undefined) {
    pictures = httpSource().then((source) => source.serve('/van.gif', (_request, response) => response.end(PICTURE)));
    // Files of a process share this module: the next one starts a server of its own.
    onFileEnd(async () => {
      pictures = undefined;
    });
  }
  return pictures;
}

/** A world in which every kind of object stands once, and a person has a value. */
export type Sample = World & {
  importId: string;
  requestId: string;
  person: string;
  password: string;
  /** Another user of the entity. */
  colleague: User;
  links: SampleLinks;
  serviceTokenId: string;
  /** To the test's own database. */
  connection: { identifier: string; settings: SettingValues };
  /** That no sync uses. */
  spareConnectionId: string;
  /** A SoR that no sync writes to. */
  spareSorId: string;
  sync: SampleSync;
  apps: SampleApps;
  /** An iOS App. */
  app: App;
  certificateId: string;
  /** A certificate that the app does not have yet. */
  anotherCertificate: { x509_pem: string; pkey_pem: string };
  label: string;
  funnel: string;
  /** With filters, and a static one. */
  segment: string;
  staticSegment: string;
  campaigns: SampleCampaigns;
  sent: SampleSend;
  crash: string;
  /** Its address. */
  picture: string;
  /** One that can be fetched. */
  file: { identifier: string; token: string };
  eventId: string;
  exporter: SampleExporter;
  wallet: SampleWallet;
  gdpr: SampleGdpr & SampleArchive;
  asked: SampleDeviceRequest;
  /** Who used the app, on which device, and an event of it. */
  seen: { deviceId: string; userId: string; eventId: string };
  /** Another entity, in which nothing is. */
  emptyEntity: Entity;
};

/** What a good call of a route sends. */
export type Call = {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: Record<string, unknown>;
  headers?: Record<string, string>;
  /** Sent as a web form with this file. */
  file?: string;
};

const FILE = 'user_id,attribute_key,value\n';

const DAYS = { sd: '1793491200', ed: '1793577600' };

/** Both forms of a file export. */
function fileCalls(path: string, call: (own: Sample) => Call): Record<string, (own: Sample) => Call> {
  return {
    [`GET ${path}`]: call,
    [`GET ${path}.:format`]: (own) => {
      const { params, ...rest } = call(own);
      return { ...rest, params: { ...params, format: 'csv' } };
    },
  };
}

/** One filter of each kind, within blocks. */
function sampleFilters({ app, entity, sor, funnel, staticSegment }: Sample) {
  const period = { last_days: 30 };
  return {
    operator: 'or',
    blocks: [
      {
        operator: 'and',
        filters: [
          {
            filter_on: 'attributes',
            sor_identifier: sor.identifier,
            attribute_key: 'plan',
            operator: 'is',
            values: ['gold'],
          },
          { filter_on: 'devices', field: 'app_version', operator: 'at_least', values: ['2.10'] },
          {
            operator: 'or',
            filters: [
              {
                filter_on: 'events',
                app_id: app.identifier,
                log_type: 2,
                log_name: `Event of ${entity.identifier}`,
                count: 1,
                period,
              },
              { filter_on: 'segments', selection: 'any_of', segment_identifiers: [staticSegment], operator: 'is_in' },
              { value: 'funnels', options: [{ funnel_identifier: funnel, step: 0, outcome: 'completed', period }] },
            ],
          },
        ],
      },
    ],
  };
}

function sampleSteps({ app, entity }: Sample) {
  const name = { app_id: app.identifier, log_type: 2, log_name: `Event of ${entity.identifier}` };
  return [{ match_name: [name], match_details: [{ plan: 'gold' }] }];
}

/** As a browser sends requests of the console's scripts. */
export const OF_CONSOLE = { 'sec-fetch-site': 'same-origin', 'x-millrace-console': '1' };

/** A good call of each route in a world. A new route joins with a line here. */
export const goodCalls: Record<string, (own: Sample) => Call> = {
  'GET /.well-known/jwks.json': () => ({}),
  'POST /api/login': ({ user, password }) => ({ body: { email: user.email, password } }),
  'POST /api/logout': () => ({}),
  'POST /api/session': ({ user, password }) => ({ body: { email: user.email, password }, headers: OF_CONSOLE }),
  'GET /api/session': () => ({}),
  'PUT /api/session': ({ entity }) => ({ body: { entity: entity.identifier } }),
  'DELETE /api/session': () => ({}),
  'GET /api/system_of_records': () => ({ query: { type: 'custom' } }),
  'GET /api/system_of_records/:sor_identifier': (own) => ({ params: { sor_identifier: own.sor.identifier } }),
  'POST /api/system_of_records': () => ({ body: { name: 'Another' } }),
  'PUT /api/system_of_records/:sor_identifier': (own) => ({
    params: { sor_identifier: own.sor.identifier },
    body: { name: 'Renamed' },
  }),
  'DELETE /api/system_of_records/:sor_identifier': (own) => ({ params: { sor_identifier: own.spareSorId } }),
  'PUT /api/system_of_records/:sor_identifier/disable': (own) => ({ params: { sor_identifier: own.sor.identifier } }),
  'PUT /api/system_of_records/:sor_identifier/enable': (own) => ({ params: { sor_identifier: own.sor.identifier } }),
  'GET /api/system_of_records/:sor_identifier/notify_emails': (own) => ({
    params: { sor_identifier: own.sor.identifier },
  }),
  'PUT /api/system_of_records/:sor_identifier/notify_emails': (own) => ({
    params: { sor_identifier: own.sor.identifier },
    body: { notify_emails: ['data@example.com'] },
  }),
  'GET /api/customer_attributes/:ca_identifier': (own) => ({
    params: { ca_identifier: own.attributes.plan!.identifier },
  }),
  'POST /api/customer_attributes': (own) => ({
    body: { sor_id: own.sor.identifier, key: 'colour', label: 'Colour', value_type: 'String' },
  }),
  'PUT /api/customer_attributes/:ca_identifier': (own) => ({
    params: { ca_identifier: own.attributes.plan!.identifier },
    body: { label: 'Tariff', disabled: true },
  }),
  'DELETE /api/customer_attributes/:ca_identifier': (own) => ({
    params: { ca_identifier: own.attributes.plan!.identifier },
  }),
  'GET /api/attribute_values': (own) => ({
    query: {
      sor_id: own.sor.identifier,
      customer_id: own.person,
      customer_type: 'user_id',
      with_validity_dates: 'true',
    },
  }),
  'GET /api/customer_attribute_values': (own) => ({
    query: { sor_id: own.sor.identifier, customer_id: own.person, customer_type: 'user_id' },
  }),
  'GET /api/customer_profiles': (own) => ({
    query: {
      sor_identifiers: own.sor.identifier,
      attribute_keys: 'plan',
      customer_ids: own.person,
      customer_id_type: 'user_id',
      num_per_page: '10',
    },
  }),
  'GET /api/customer_profiles/:customer_id': (own) => ({
    params: { customer_id: own.person },
    query: { customer_id_type: 'user_id' },
  }),
  'GET /api/attribute_values/template': (own) => ({ query: { sor_id: own.sor.identifier, api_key: own.apiKey } }),
  'GET /api/system_of_records/:sor_identifier/template': (own) => ({ params: { sor_identifier: own.sor.identifier } }),
  'GET /api/attribute_values/import_days': (own) => ({ query: { sor_id: own.sor.identifier } }),
  'GET /api/attribute_values/imports': (own) => ({ query: { sor_id: own.sor.identifier, open: 'true' } }),
  'POST /api/attribute_values/imports': () => ({ file: FILE }),
  'GET /api/attribute_values/feeds': (own) => ({ query: { sor_id: own.sor.identifier } }),
  'POST /api/attribute_values/imports/:import_id/cancel': (own) => ({ params: { import_id: own.importId } }),
  'GET /api/attribute_values/imports/:import_id/errors.csv': (own) => ({ params: { import_id: own.importId } }),
  'POST /api/attribute_values/batch_import': () => ({ file: FILE }),
  'GET /api/attribute_values/import_jobs': () => ({}),
  'GET /api/attribute_values/import_errors': (own) => ({ query: { import_id: own.importId } }),
  'GET /api/attribute_values/imports/:import_id': (own) => ({ params: { import_id: own.importId } }),
  'GET /api/users': () => ({}),
  'GET /api/users/:user_id': (own) => ({ params: { user_id: own.colleague.uid } }),
  'POST /api/users': (own) => ({
    body: {
      email: `new-${own.entity.id}@example.com`,
      first_name: 'Ada',
      last_name: 'Byron',
      enable: { sor_manage: true },
      admin: false,
      superadmin: false,
    },
  }),
  'PUT /api/users/:user_id': (own) => ({
    params: { user_id: own.colleague.uid },
    body: { first_name: 'Ada', enable: { comments: true } },
  }),
  'DELETE /api/users/:user_id': (own) => ({ params: { user_id: own.colleague.uid } }),
  'PUT /api/users/me/password': ({ password }) => ({ body: { password, new_password: `${password}, new` } }),
  'POST /api/users/:user_id/password_reset': (own) => ({ params: { user_id: own.colleague.uid } }),
  'GET /api/invitations': () => ({}),
  'POST /api/invitations/:invitation_id/send': ({ links }) => ({ params: { invitation_id: links.invitationId } }),
  'DELETE /api/invitations/:invitation_id': ({ links }) => ({ params: { invitation_id: links.invitationId } }),
  'POST /api/invitations/accept': ({ links }) => ({
    body: { token: links.invitationToken, password: 'long enough', first_name: 'Ada', last_name: 'Byron' },
  }),
  'POST /api/password_resets': ({ user }) => ({ body: { email: user.email } }),
  'POST /api/password_resets/confirm': ({ links }) => ({ body: { token: links.resetToken, password: 'long enough' } }),
  'GET /invite/:token': ({ links }) => ({ params: { token: links.invitationToken } }),
  'POST /invite/:token': ({ links }) => ({
    params: { token: links.invitationToken },
    body: { password: 'long enough', first_name: 'Ada', last_name: '' },
  }),
  'GET /reset': () => ({}),
  'POST /reset': ({ user }) => ({ body: { email: user.email } }),
  'GET /reset/:token': ({ links }) => ({ params: { token: links.resetToken } }),
  'POST /reset/:token': ({ links }) => ({ params: { token: links.resetToken }, body: { password: 'long enough' } }),
  'GET /api/service_tokens': () => ({}),
  'POST /api/service_tokens': () => ({ body: { name: 'Nightly load', rights: ['sor_manage'], expires_in_days: 30 } }),
  'DELETE /api/service_tokens/:token_identifier': (own) => ({ params: { token_identifier: own.serviceTokenId } }),
  'GET /api/entities': () => ({}),
  'GET /api/entities/:entity_id': (own) => ({ params: { entity_id: own.entity.identifier } }),
  'POST /api/entities': () => ({
    body: { name: 'New', description: 'A new one', default_tz: 'Europe/Paris', data_retention_in_months: 12 },
  }),
  'PUT /api/entities/:entity_id': (own) => ({
    params: { entity_id: own.entity.identifier },
    body: { name: 'Renamed' },
  }),
  'DELETE /api/entities/:entity_id': (own) => ({ params: { entity_id: own.emptyEntity.identifier } }),
  'GET /api/attention': () => ({}),
  'GET /health/live': () => ({}),
  'GET /health/ready': () => ({}),
  'GET /api/system': () => ({}),
  'GET /api/audit_log': () => ({}),
  'GET /api/audit_log.csv': () => ({}),
  'GET /api/connectors': () => ({}),
  'GET /api/connections': () => ({}),
  'POST /api/connections': (own) => ({
    body: { name: 'Another', connector: 'postgres', settings: own.connection.settings },
  }),
  'GET /api/connections/:connection_id': (own) => ({ params: { connection_id: own.connection.identifier } }),
  'PUT /api/connections/:connection_id': (own) => ({
    params: { connection_id: own.connection.identifier },
    body: { name: 'Renamed', settings: own.connection.settings },
  }),
  'DELETE /api/connections/:connection_id': (own) => ({ params: { connection_id: own.spareConnectionId } }),
  'POST /api/connections/check': (own) => ({
    body: { connector: 'postgres', settings: own.connection.settings, as: 'source' },
  }),
  'POST /api/connections/:connection_id/check': (own) => ({
    params: { connection_id: own.connection.identifier },
    body: { as: 'source' },
  }),
  'GET /api/connections/:connection_id/streams': (own) => ({
    params: { connection_id: own.connection.identifier },
    query: { as: 'source' },
  }),
  'GET /api/apps': () => ({ query: { unwanted: 'true' } }),
  'GET /api/apps/:app_identifier': ({ apps }) => ({ params: { app_identifier: apps.appId } }),
  'POST /api/apps': ({ apps }) => ({ body: { ...wholeApp(apps), store_fetched: false } }),
  'PUT /api/apps/:app_identifier': ({ apps }) => ({ params: { app_identifier: apps.appId }, body: wholeApp(apps) }),
  'GET /api/app_groups': () => ({}),
  'GET /api/app_groups/:group_identifier': ({ apps }) => ({ params: { group_identifier: apps.groupId } }),
  'POST /api/app_groups': ({ apps }) => ({ body: { name: 'Another', apps: [apps.appId] } }),
  'PUT /api/app_groups/:group_identifier': ({ apps }) => ({
    params: { group_identifier: apps.groupId },
    body: { name: 'Renamed', apps: [apps.parentId] },
  }),
  'DELETE /api/app_groups/:group_identifier': ({ apps }) => ({ params: { group_identifier: apps.groupId } }),
  'GET /api/apps/:app_identifier/api_keys': ({ apps }) => ({ params: { app_identifier: apps.appId } }),
  'GET /api/apps/:app_identifier/api_keys/:key_identifier': ({ apps }) => ({
    params: { app_identifier: apps.appId, key_identifier: apps.keyId },
  }),
  'POST /api/apps/:app_identifier/api_keys': ({ apps }) => ({
    params: { app_identifier: apps.appId },
    body: { api_key: `Another-key-of-${apps.appId}-1`, revoked: false },
  }),
  'PUT /api/apps/:app_identifier/api_keys/:key_identifier': ({ apps }) => ({
    params: { app_identifier: apps.appId, key_identifier: apps.keyId },
    body: { api_key: `New-key-of-${apps.appId}-1`, revoked: true },
  }),
  ...Object.fromEntries(
    ['batch', 'b', 'import'].map((name) => [
      `POST /v1/${name}`,
      ({ apps }: Sample): Call => ({
        body: {
          writeKey: apps.apiKey,
          batch: [{ type: 'track', event: 'Tapped', messageId: 'sample', anonymousId: apps.deviceId }],
        },
      }),
    ]),
  ),
  ...Object.fromEntries(
    ['track', 't', 'identify', 'i', 'page', 'p', 'screen', 's', 'group', 'g', 'alias', 'a'].map((name) => [
      `POST /v1/${name}`,
      ({ apps, person }: Sample): Call => ({
        body: {
          writeKey: apps.apiKey,
          event: 'Tapped',
          groupId: 'acme',
          previousId: apps.deviceId,
          userId: person,
          messageId: 'sample',
        },
      }),
    ]),
  ),
  'GET /v1/projects/:write_key/settings': ({ apps }) => ({ params: { write_key: apps.apiKey } }),
  'GET /v1/inapp': ({ apps }) => ({ query: { deviceId: apps.deviceId }, headers: basic(apps.apiKey) }),
  'POST /v1/verify': ({ apps }) => ({
    body: { writeKey: apps.apiKey, deviceId: apps.deviceId, userToken: apps.userToken },
  }),
  'POST /v1/privacy': ({ apps }) => ({ body: { writeKey: apps.apiKey, type: 'access', deviceId: apps.deviceId } }),
  'GET /api/apps/:app_identifier/user_token_keys': ({ apps }) => ({ params: { app_identifier: apps.appId } }),
  'POST /api/apps/:app_identifier/user_token_keys': ({ apps }) => ({ params: { app_identifier: apps.appId } }),
  'DELETE /api/apps/:app_identifier/user_token_keys/:key_identifier': ({ apps }) => ({
    params: { app_identifier: apps.appId, key_identifier: apps.tokenKeyId },
  }),
  'GET /api/apps/:app_identifier/privacy_requests': ({ apps }) => ({ params: { app_identifier: apps.appId } }),
  'GET /api/apps/:app_identifier/live': ({ apps }) => ({
    params: { app_identifier: apps.appId },
    query: { after: '0' },
  }),
  'GET /api/apps/:app_identifier/refused_calls': ({ apps }) => ({
    params: { app_identifier: apps.appId },
    query: { code: 'invalid', message_id: 'sample', per_page: '10' },
  }),
  'GET /api/apps/:app_identifier/ingestion': ({ apps }) => ({
    params: { app_identifier: apps.appId },
    query: { days: '30' },
  }),
  'GET /api/apps/:app_identifier/crashes': ({ apps }) => ({ params: { app_identifier: apps.appId } }),
  'DELETE /api/apps/:app_identifier/crashes/:crash_identifier': (own) => ({
    params: { ...ofApp(own).params, crash_identifier: own.crash },
  }),
  'GET /api/syncs': () => ({}),
  'POST /api/syncs': (own) => ({ body: anotherSync(own) }),
  'POST /api/syncs/validate': (own) => ({ body: { ...anotherSync(own), sync_id: own.sync.identifier } }),
  'GET /api/syncs/:sync_id': ofSync,
  'PUT /api/syncs/:sync_id': (own) => ({ ...ofSync(own), body: { ...anotherSync(own), name: 'Renamed' } }),
  'DELETE /api/syncs/:sync_id': ofSync,
  'POST /api/syncs/:sync_id/pause': ofSync,
  'POST /api/syncs/:sync_id/resume': ofSync,
  'POST /api/syncs/:sync_id/accept_schema': ofSync,
  'POST /api/syncs/:sync_id/run': (own) => ({ ...ofSync(own), body: { fresh: true, confirm_removals: false } }),
  'POST /api/syncs/:sync_id/dry_run': (own) => ({ ...ofSync(own), body: { records: 100 } }),
  'GET /api/syncs/:sync_id/runs': ofSync,
  'GET /api/syncs/:sync_id/runs/:run_id': (own) => ofRun(own, 'endedRunId'),
  'GET /api/sync_runs/:run_id': (own) => ({ params: { run_id: own.sync.endedRunId } }),
  'POST /api/syncs/:sync_id/runs/:run_id/cancel': (own) => ofRun(own, 'waitingRunId'),
  'POST /api/syncs/:sync_id/runs/:run_id/redrive': (own) => ofRun(own, 'endedRunId'),
  'GET /api/syncs/:sync_id/runs/:run_id/log': (own) => ofRun(own, 'endedRunId'),
  'GET /api/syncs/:sync_id/runs/:run_id/requests': (own) => ofRun(own, 'endedRunId'),
  'GET /api/syncs/:sync_id/runs/:run_id/sample': (own) => ofRun(own, 'dryRunId'),
  'GET /api/syncs/:sync_id/runs/:run_id/errors': (own) => ofRun(own, 'endedRunId'),
  'GET /api/syncs/:sync_id/runs/:run_id/errors.csv': (own) => ofRun(own, 'endedRunId'),
  'POST /api/attribute_values': (own) => ({
    body: {
      sor: own.sor.identifier,
      api_key: own.apiKey,
      customer_attribute_values: [{ attribute_key: 'plan', attribute_value: 'gold', customer_id: own.person }],
    },
  }),
  'GET /api/apps/:app_identifier/push_certificates': ofApp,
  'GET /api/apps/:app_identifier/push_certificates/:cert_identifier': ofCertificate,
  'POST /api/apps/:app_identifier/push_certificates': (own) => ({ ...ofApp(own), body: own.anotherCertificate }),
  'PUT /api/apps/:app_identifier/push_certificates/:cert_identifier': (own) => ({
    ...ofCertificate(own),
    body: { revoked: true },
  }),
  'GET /api/apps/:app_identifier/push_providers/:platform': (own) => ofPlatform(own, 'web'),
  'PUT /api/apps/:app_identifier/push_providers/:platform': (own) => ({
    ...ofPlatform(own, 'web'),
    body: { provider: 'web_push', settings: { subject: 'mailto:push@example.com' } },
  }),
  'DELETE /api/apps/:app_identifier/push_providers/:platform': (own) => ofPlatform(own, 'web'),
  'GET /api/apps/:app_identifier/push_outcomes': (own) => ({ ...ofApp(own), query: { days: '7' } }),
  'POST /api/apps/:app_identifier/push_check': (own) => ({ ...ofApp(own), body: { platform: 'android' } }),
  'GET /api/labels': () => ({}),
  'POST /api/labels': () => ({ body: { name: 'Another label' } }),
  'PUT /api/labels/:name': (own) => ({ params: { name: own.label }, body: { new_name: 'Renamed' } }),
  'DELETE /api/labels/:name': (own) => ({ params: { name: own.label } }),
  'GET /api/apps/:app_identifier/analytics/events': (own) => ({
    ...ofApp(own),
    query: { sd: '1793491200', ed: '1793577600', only_current: 'true' },
  }),
  'GET /api/apps/:app_identifier/analytics/days': (own) => ({
    ...ofApp(own),
    query: { ...DAYS, only_current: 'true', aliases: 'true' },
  }),
  'GET /api/apps/:app_identifier/analytics/event_values': (own) => ({
    ...ofApp(own),
    query: { name: 'Bought', log_type: '2', ...DAYS },
  }),
  'GET /api/crashes/:crash_identifier': (own) => ({
    params: { crash_identifier: own.crash },
    query: DAYS,
  }),
  'GET /api/crashes/:crash_identifier/occurrences': (own) => ({ params: { crash_identifier: own.crash } }),
  ...fileCalls('/api/apps/:app_identifier/events_export', (own) => ({
    ...ofApp(own),
    query: { fields: 'name', since_date: '2026-01-01', skip_email: 'true' },
  })),
  ...fileCalls('/api/apps/:app_identifier/sessions_export', (own) => ({
    ...ofApp(own),
    query: { langs: 'fr', skip_email: 'true' },
  })),
  ...fileCalls('/api/apps/:app_identifier/devices_export', (own) => ({
    ...ofApp(own),
    query: { segment_ids: own.segment, skip_email: 'true' },
  })),
  ...fileCalls('/api/segments/:segment_identifier/devices_export', (own) => ({
    params: { segment_identifier: own.segment },
    query: { skip_email: 'true' },
  })),
  ...fileCalls('/api/apps/:app_identifier/locations_export', (own) => ({
    ...ofApp(own),
    query: { skip_email: 'true' },
  })),
  ...fileCalls('/api/customer_profiles/export', (own) => ({
    query: { sor_identifiers: own.sor.identifier, customer_ids: own.person, skip_email: 'true' },
  })),
  ...fileCalls('/api/performance_export', (own) => ({
    query: { apps: own.app.identifier, ...DAYS, skip_email: 'true' },
  })),
  ...fileCalls('/api/apps/:app_identifier/analytics/download_metrics', (own) => ({
    ...ofApp(own),
    query: { ...DAYS, skip_email: 'true' },
  })),
  ...fileCalls('/api/events_export', (own) => ({ query: { app: own.app.identifier, ...DAYS, skip_email: 'true' } })),
  ...fileCalls('/api/event_details_export', (own) => ({
    query: { app: own.app.identifier, event_id: own.eventId, ...DAYS, skip_email: 'true' },
  })),
  ...fileCalls('/api/crashes/:crash_identifier/export_occurrences', (own) => ({
    params: { crash_identifier: own.crash },
    query: { id: own.crash, date: '2026-11-05', skip_email: 'true' },
  })),
  'GET /api/files/:file_identifier': ({ file }) => ({
    params: { file_identifier: file.identifier },
    query: { token: file.token },
  }),
  'GET /api/funnels': (own) => ({ query: { apps: own.app.identifier } }),
  'GET /api/funnels/:identifier': (own) => ({ params: { identifier: own.funnel } }),
  'GET /api/funnels/:identifier/stats': (own) => ({
    params: { identifier: own.funnel },
    query: {
      app_id: own.app.identifier,
      from: '2026-11-01',
      till: '2026-11-30',
      mode: 'accurate',
      aliases: 'true',
      breakdown: 'detail.product',
    },
  }),
  'GET /api/campaigns': ({ app }) => ({ query: { app_ids: app.identifier, order: 'status', status: 'draft,ongoing' } }),
  ...fileCalls('/api/campaigns/list_export', ({ app }) => ({
    query: { app_ids: app.identifier, order: 'status', status: 'draft,ongoing', skip_email: 'true' },
  })),
  'GET /api/apps_campaign_logs': ({ app }) => ({
    query: {
      apps: app.identifier,
      from: new Date(Date.now() - 86_400_000).toISOString(),
      till: new Date(Date.now() - 1_000).toISOString(),
    },
  }),
  'POST /api/campaign': (own) => ({
    body: campaignBody(own.app.identifier, {
      type: 'classic',
      filters: sampleFilters(own),
      variants: [
        { name: 'A', share: 50 },
        { name: 'B', share: 50, params: { push_title: 'B' } },
      ],
    }),
  }),
  'POST /api/campaign/:campaign_identifier/duplicate': ({ campaigns }) => ({
    params: { campaign_identifier: campaigns.ongoing },
    body: { name: 'Another parcel' },
  }),
  'GET /api/campaign/:campaign_identifier': ({ campaigns }) => ({ params: { campaign_identifier: campaigns.draft } }),
  'PUT /api/campaign/:campaign_identifier': ({ app, campaigns }) => ({
    params: { campaign_identifier: campaigns.draft },
    body: campaignBody(app.identifier),
  }),
  'DELETE /api/campaign/:campaign_identifier': ({ campaigns }) => ({
    params: { campaign_identifier: campaigns.draft },
  }),
  'PUT /api/campaign/:campaign_identifier/launch': ({ campaigns }) => ({
    params: { campaign_identifier: campaigns.draft },
  }),
  'PUT /api/campaign/:campaign_identifier/cancel': ({ campaigns }) => ({
    params: { campaign_identifier: campaigns.ongoing },
  }),
  ...Object.fromEntries(
    ['transac', 'transac_push'].map((name) => [
      `POST /api/${name}`,
      ({ campaigns, person }: Sample): Call => ({
        body: {
          campaignKey: [campaigns.ongoing],
          sendAt: '2027-01-31T09:00:00Z',
          requestKey: 'parcel 1',
          messages: [{ user: person, templateVars: { parcel: '17' } }],
        },
      }),
    ]),
  ),
  'POST /api/campaigns/preview': ({ campaigns, person, sor }) => ({
    body: {
      campaign: campaigns.draft,
      variant_params: { push_title: `Hello *@sor:${sor.identifier}.plan|there@*` },
      templateVars: { parcel: '17' },
      user: person,
    },
  }),
  'GET /api/campaigns/picture': ({ picture }) => ({ query: { address: picture } }),
  'GET /api/transac/:request_id': ({ sent }) => ({ params: { request_id: sent.requestId } }),
  'POST /api/campaign/:campaign_identifier/test': ({ campaigns, seen }) => ({
    params: { campaign_identifier: campaigns.draft },
    body: { users: [seen.userId], templateVars: { parcel: '17' } },
  }),
  'GET /api/campaign_tests/:request_id': ({ sent }) => ({ params: { request_id: sent.testId } }),
  'GET /api/transac/:request_id/decisions': ({ sent }) => ({
    params: { request_id: sent.requestId },
    query: { code: 'PUSH_SENT', outcome: 'taken' },
  }),
  'GET /api/campaigns/:identifier/requests': ({ campaigns }) => ({
    params: { identifier: campaigns.ongoing },
    query: { per_page: '5' },
  }),
  'DELETE /api/transac/:request_id': ({ sent }) => ({ params: { request_id: sent.requestId } }),
  'GET /api/transac/:campaign_key/reports': ({ campaigns, sent }) => ({
    params: { campaign_key: campaigns.ongoing },
    query: { requestId: sent.requestId, page: '1', page_size: '100' },
  }),
  'GET /api/campaigns/:identifier/why': ({ campaigns, seen }) => ({
    params: { identifier: campaigns.ongoing },
    query: { user: seen.userId },
  }),
  'GET /api/campaigns/:identifier/plan': ({ campaigns }) => ({
    params: { identifier: campaigns.classic },
    query: { limit: '5' },
  }),
  'GET /api/campaigns/:identifier/audience': ({ campaigns }) => ({ params: { identifier: campaigns.classic } }),
  'GET /api/campaigns/:identifier/results': ({ campaigns }) => ({
    params: { identifier: campaigns.ongoing },
    query: { from: '2026-11-01', till: '2026-11-30' },
  }),
  'GET /api/campaigns/:identifier/tests': ({ campaigns }) => ({
    params: { identifier: campaigns.draft },
    query: { per_page: '5' },
  }),
  'POST /api/funnels': (own) => ({
    body: {
      name: 'Sale',
      description: 'From view to order',
      max_duration: 3600,
      steps: sampleSteps(own),
      labels: [own.label],
    },
  }),
  'PUT /api/funnels/:identifier': (own) => ({ params: { identifier: own.funnel }, body: { labels: [own.label] } }),
  'PUT /api/funnels/:identifier/archive': (own) => ({ params: { identifier: own.funnel } }),
  'PUT /api/funnels/:identifier/restore': (own) => ({ params: { identifier: own.funnel } }),
  'POST /api/funnels/quick_stats': (own) => ({
    query: {
      app_id: own.app.identifier,
      from: '2026-11-01',
      till: '2026-11-30',
      mode: 'accurate',
      aliases: 'true',
      breakdown: 'detail.product',
    },
    body: { funnel: { max_duration: 60.5, steps: sampleSteps(own), exclusions: [] } },
  }),
  'POST /api/funnels/explore': (own) => ({
    query: {
      app_id: own.app.identifier,
      from: '2026-11-01',
      till: '2026-11-30',
      mode: 'fast',
      position: '0',
      dropped: 'false',
    },
    body: { funnel: { steps: sampleSteps(own) } },
  }),
  'POST /api/funnels/people': (own) => ({
    query: {
      app_id: own.app.identifier,
      from: '2026-11-01',
      till: '2026-11-30',
      mode: 'fast',
      step: '0',
      outcome: 'completed',
    },
    body: { funnel: { steps: sampleSteps(own) } },
  }),
  'GET /api/segments': (own) => ({ query: { app: own.app.identifier } }),
  'GET /api/segments/:identifier': (own) => ({ params: { identifier: own.segment } }),
  'POST /api/segments': (own) => ({
    body: {
      name: 'Buyers',
      app: own.app.identifier,
      description: 'Twice',
      filters: sampleFilters(own),
      static: false,
      labels: [own.label],
    },
  }),
  'PUT /api/segments/:identifier': (own) => ({
    params: { identifier: own.segment },
    body: { name: 'Loyal', description: 'Twice', filters: sampleFilters(own), labels: [own.label], revision: 1 },
  }),
  'DELETE /api/segments/:identifier': (own) => ({ params: { identifier: own.segment } }),
  'POST /api/people/view': ({ seen }) => ({ body: { user_id: seen.userId } }),
  'POST /api/people/timeline': ({ seen }) => ({ body: { user_id: seen.userId, until: '2026-12-31' } }),
  'POST /api/people/days': ({ seen }) => ({ body: { user_id: seen.userId, until: '2026-12-31' } }),
  'POST /api/people/messages': ({ seen }) => ({ body: { user_id: seen.userId } }),
  'POST /api/people/segment': (own) => ({ body: { user_id: own.seen.userId, segment_id: own.segment } }),
  'POST /api/people/delivery': ({ seen, campaigns }) => ({
    body: { user_id: seen.userId, campaign_id: campaigns.classic },
  }),
  'POST /api/people/find': ({ seen }) => ({ body: { text: seen.userId } }),
  'POST /api/segments/preview': (own) => ({
    body: { app: own.app.identifier, filters: sampleFilters(own), fast: true, left: true },
  }),
  'GET /api/segments/:identifier/people': (own) => ({
    params: { identifier: own.staticSegment },
    query: { per_page: '10' },
  }),
  'GET /api/segments/:identifier/changes': (own) => ({
    params: { identifier: own.staticSegment },
    query: { joined: 'true', per_page: '10' },
  }),
  'GET /api/segments/:identifier/days': (own) => ({ params: { identifier: own.segment }, query: { days: '7' } }),
  'POST /api/segments/:identifier/people': (own) => ({
    params: { identifier: own.staticSegment },
    body: { ids: [own.seen.deviceId], customer_id_type: 'device_id' },
  }),
  'DELETE /api/segments/:identifier/people': (own) => ({
    params: { identifier: own.staticSegment },
    body: { ids: [own.seen.userId], customer_id_type: 'user_id' },
  }),
  'GET /api/apps/:app_identifier/event_definitions': ofApp,
  'GET /api/apps/:app_identifier/events': (own) => ({
    ...ofApp(own),
    query: { fields: 'name', since_date: '2026-01-01', segment_ids: own.segment },
  }),
  'GET /api/apps/:app_identifier/events/:event_identifier': (own) => ({
    params: { ...ofApp(own).params, event_identifier: own.seen.eventId },
  }),
  'GET /api/apps/:app_identifier/devices/:device_identifier/events': (own) => ({
    params: { ...ofApp(own).params, device_identifier: own.seen.deviceId },
  }),
  'GET /api/apps/:app_identifier/devices': (own) => ({ ...ofApp(own), query: { updated_since: '2026-01-01' } }),
  'GET /api/apps/:app_identifier/devices/:device_identifier': (own) => ({
    params: { ...ofApp(own).params, device_identifier: own.seen.deviceId },
    query: { fields: 'users:user_id' },
  }),
  'GET /api/segments/:segment_identifier/devices': (own) => ({
    params: { segment_identifier: own.segment },
    query: { fields: 'segments:name,segments:description' },
  }),
  'GET /api/users/:user_id/events': ({ seen }) => ({
    params: { user_id: seen.userId },
    query: { group: 'true', fields: 'name' },
  }),
  'GET /api/apps/:app_identifier/sessions': (own) => ({ ...ofApp(own), query: { per_page: '1' } }),
  'GET /api/apps/:app_identifier/locations': (own) => ({
    ...ofApp(own),
    query: { latitude: '48.85', longitude: '2.35' },
  }),
  'PUT /api/apps/:app_identifier/event_definitions/:event_id': (own) => ({
    params: { app_identifier: own.app.identifier, event_id: own.eventId },
    body: { display_name: 'Bought', goal: true, labels: ['Checkout', own.label] },
  }),
  'DELETE /api/apps/:app_identifier/event_definitions/:event_id': (own) => ({
    params: { app_identifier: own.app.identifier, event_id: own.eventId },
  }),
  'GET /api/data_exporters': () => ({}),
  'POST /api/data_exporters': (own) => ({ body: anotherExporter(own) }),
  'GET /api/data_exporters/:exporter_id': ofExporter,
  'PUT /api/data_exporters/:exporter_id': (own) => ({ ...ofExporter(own), body: anotherExporter(own) }),
  'DELETE /api/data_exporters/:exporter_id': ofExporter,
  'GET /api/data_exporters/:exporter_id/reconciliation': ofExporter,
  'GET /api/data_exporters/:exporter_id/deletion_lists': ofExporter,
  'PUT /api/data_exporters/:exporter_id/activate': ofExporter,
  'PUT /api/data_exporters/:exporter_id/deactivate': ofExporter,
  'POST /api/data_exporters/:exporter_id/check': ofExporter,
  'GET /api/data_exporters/:exporter_id/policy': ofExporter,
  'GET /api/data_exporters/:exporter_id/exports/:export_identifier': (own) => ({
    params: { ...ofExporter(own).params, export_identifier: own.exporter.exportId },
  }),
  'GET /api/data_exporters/:exporter_id/runs': ofExporter,
  'POST /api/data_exporters/:exporter_id/runs': ofExporter,
  'GET /api/data_exporters/:exporter_id/runs/:run_id': (own) => ofExportRun(own, 'endedRunId'),
  'GET /api/export_runs/:run_id': (own) => ({ params: { run_id: own.exporter.endedRunId } }),
  'POST /api/data_exporters/:exporter_id/runs/:run_id/cancel': (own) => ofExportRun(own, 'waitingRunId'),
  'POST /api/data_exporters/:exporter_id/runs/:run_id/rerun': (own) => ofExportRun(own, 'endedRunId'),
  'POST /api/data_exporters/:exporter_id/backfills': (own) => ({
    ...ofExporter(own),
    body: { from: '2026-01-01', to: '2026-01-31' },
  }),
  'GET /api/attribute_values/feeds/:request_id': (own) => ({ params: { request_id: own.requestId } }),
  'GET /api/gdpr/requests/:request_id/receipt': (own) => ({ params: { request_id: own.gdpr.receiptedId } }),
  'GET /api/gdpr/receipts': (own) => ({ query: { user_id: own.person } }),
  'POST /api/gdpr/access_user_data': (own) => ({ body: { users: [own.person], skip_email: true } }),
  'GET /api/gdpr_request/export': (own) => ({ query: { request_id: own.gdpr.accessId } }),
  'POST /api/gdpr/delete_user_data': (own) => ({ body: { users: [own.person], skip_email: true } }),
  'GET /api/gdpr_request/delete': (own) => ({ query: { request_id: own.gdpr.deletionId } }),
  'GET /api/gdpr/latest_requests': (own) => ({
    query: {
      users: own.person,
      request_types: 'access,delete',
      modified_since: new Date(Date.now() - 86_400_000).toISOString(),
    },
  }),
  'GET /api/gdpr/requests': () => ({}),
  'GET /api/gdpr/downloads/:request_id/:ordinal/:signature': ({ gdpr: { archiveId, signature } }) => ({
    params: { request_id: archiveId, ordinal: '1', signature },
  }),
  'GET /api/gdpr/requests/:request_id': (own) => ({ params: { request_id: own.gdpr.accessId } }),
  'POST /api/gdpr/requests/:request_id/approve': ({ asked }) => ({ params: { request_id: asked.requestId } }),
  'POST /api/gdpr/requests/:request_id/decline': ({ asked }) => ({
    params: { request_id: asked.requestId },
    body: { reason: 'withdrawn' },
  }),
  'GET /api/gdpr/holds': ({ person }) => ({ query: { user_id: person } }),
  'POST /api/gdpr/holds': () => ({
    body: { user_id: personId(1), kind: 'restriction', reason: 'a dispute over what is stored' },
  }),
  'DELETE /api/gdpr/holds/:hold_id': ({ asked }) => ({ params: { hold_id: asked.holdId } }),
  'GET /api/gdpr/identifiers': ({ person }) => ({ query: { user_id: person } }),
  'GET /api/gdpr/locations': (own) => ({ query: { request_id: own.gdpr.deletionId } }),
  'GET /api/gdpr/requests/:request_id/identifiers': ({ asked }) => ({ params: { request_id: asked.requestId } }),
  'GET /api/gdpr/aliases': ({ asked }) => ({ query: { user_id: asked.later } }),
  'PUT /api/gdpr/aliases': ({ asked: { earlier, later } }) => ({
    body: { previous_id: earlier, user_id: later, decision: 'confirmed' },
  }),
  'POST /api/gdpr/readmit': ({ asked, apps }) => ({ body: { users: [asked.erased], devices: [apps.deviceId] } }),
  ...walletCalls(),
};

function ofApp({ app }: Sample): Call {
  return { params: { app_identifier: app.identifier } };
}

function ofCertificate({ app, certificateId }: Sample): Call {
  return { params: { app_identifier: app.identifier, cert_identifier: certificateId } };
}

function ofPlatform({ app }: Sample, platform: string): Call {
  return { params: { app_identifier: app.identifier, platform } };
}

function ofExporter({ exporter }: Sample): Call {
  return { params: { exporter_id: exporter.identifier } };
}

function ofExportRun({ exporter }: Sample, run: 'endedRunId' | 'waitingRunId'): Call {
  return { params: { exporter_id: exporter.identifier, run_id: exporter[run] } };
}

/** Of the five parts of a data wallet, which are alike. */
function walletCalls(): Record<string, (own: Sample) => Call> {
  const path = '/api/apps/:app_identifier/data_wallet';
  const app = ({ wallet }: Sample) => ({ app_identifier: wallet.appId });
  const languages = (own: Sample) => ({
    params: app(own),
    body: { languages: [{ identifier: 'fr' }, { identifier: 'en' }] },
  });
  const part = (
    name: string,
    param: string,
    body: Call['body'],
    identifier: keyof SampleWallet,
    unused = identifier,
  ): Record<string, (own: Sample) => Call> => {
    const one = (own: Sample) => ({ ...app(own), [param]: own.wallet[identifier] });
    return {
      [`GET ${path}/${name}`]: (own) => ({ params: app(own) }),
      [`POST ${path}/${name}`]: (own) => ({ params: app(own), body: body! }),
      [`GET ${path}/${name}/:${param}`]: (own) => ({ params: one(own) }),
      [`PUT ${path}/${name}/:${param}`]: (own) => ({ params: one(own), body: body! }),
      [`PATCH ${path}/${name}/:${param}`]: (own) => ({ params: one(own), body: body! }),
      [`DELETE ${path}/${name}/:${param}`]: (own) => ({ params: { ...one(own), [param]: own.wallet[unused] } }),
    };
  };
  const says = { technical_name: 'another', title: { en: 'Another' } };
  const element = { technical_name: 'orders', display_name: 'Orders', data_category: { technical_name: 'usage' } };
  return {
    [`GET ${path}/settings`]: (own) => ({ params: app(own) }),
    [`PUT ${path}/settings`]: languages,
    [`PATCH ${path}/settings`]: languages,
    ...part('legal_texts', 'legal_text_identifier', { ...says, text: { en: 'Text' } }, 'legalTextId'),
    ...part(
      'categories',
      'category_identifier',
      { ...says, description: { en: 'What it is' } },
      'categoryId',
      'spareCategoryId',
    ),
    ...part(
      'recipients',
      'recipient_identifier',
      { technical_name: 'another', display_name: 'Another', data_elements: [element] },
      'recipientId',
    ),
    ...part(
      'purposes',
      'purpose_identifier',
      {
        ...says,
        description: { en: 'What for' },
        data_elements: [{ technical_name: 'basket', recipient: { technical_name: 'crm' } }],
      },
      'purposeId',
    ),
  };
}

function ofSync({ sync }: Sample): Call {
  return { params: { sync_id: sync.identifier } };
}

function ofRun({ sync }: Sample, run: 'endedRunId' | 'dryRunId' | 'waitingRunId'): Call {
  return { params: { sync_id: sync.identifier, run_id: sync[run] } };
}

export function nameOf({ method, path }: Route): string {
  return `${method} ${path}`;
}

/** Computed once: a hash takes a tenth of a second. */
let passwordHash: Promise<string> | undefined;

export type SampleOptions = { rights?: readonly []; admin?: boolean; isSuper?: boolean };

/**
 * The enabled SoR that most calls want, or the disabled one that `enable` needs. The user is an admin with every right,
 * and a superadmin where the route needs one.
 */
export async function makeSample(
  store: TestStore,
  route: Route,
  { isSuper = true, ...options }: SampleOptions = {},
): Promise<Sample> {
  const world = await makeWorld(store, options);
  const { db, secrets } = store;
  const { entity, sor, user } = world;
  const person = personId(900_000 + entity.id);
  const password = 'password of a sample';
  passwordHash ??= hashPassword(password);
  await db.query('UPDATE users SET password_hash = $2 WHERE id = $1', [user.id, await passwordHash]);
  const made = await write(db, async (tx) => {
    const { id: attributeId } = world.attributes.plan!;
    const key = { customerType: 'user_id', customerId: person } as const;
    await mergeAttributeValues(
      tx,
      secrets,
      entity.id,
      sor.id,
      prepareChanges([
        { kind: 'value', line: 1, attributeId, ...key, valueType: 'String', value: `plan of ${entity.identifier}` },
      ]),
    );
    const job = await insertUpload(tx, store, world);
    await insertImportErrors(tx, entity.id, job.id, [
      {
        line: 2,
        errorType: 'INVALID_VALUE',
        outcome: 'failed',
        stage: 'validation',
        message: 'is no number',
        customerId: person,
        attributeKey: 'score',
        raw: `${person},score,many`,
        originalLine: null,
        customerHash: null,
      },
    ]);
    const requestId = await insertFeedRequest(tx, entity.id, { sorId: sor.id, version: 3, valuesIn: 0, body: '[]' });
    return { importId: job.identifier, requestId };
  });
  if (route.role === 'superadmin' && isSuper)
    await db.query('UPDATE users SET superadmin = true WHERE id = $1', [user.id]);
  if (route.path.endsWith('/enable'))
    await db.query('UPDATE systems_of_records SET disabled = true WHERE id = $1', [sor.id]);
  const others = {
    picture: await pictureAddress(),
    ...(await insertOthers(store, world, person)),
    ...(await insertBesideApps(store, world, route.path)),
  };
  return { ...world, ...made, person, password, ...others };
}

/** The same samples for all tests in which nothing of them may change. */
export function untouchedSamples(): (store: TestStore, route: Route, options?: SampleOptions) => Promise<Sample> {
  const made = new Map<string, Promise<Sample>>();
  return (store, route, options = {}) => {
    const kind = JSON.stringify([route.role === 'superadmin', route.path.endsWith('/enable'), options]);
    const sample = made.get(kind) ?? makeSample(store, route, options);
    made.set(kind, sample);
    return sample;
  };
}

/** An app, and what is kept beside it. */
async function insertBesideApps(
  { db, files, secrets }: TestStore,
  world: World,
  path: string,
): Promise<
  Pick<
    Sample,
    | 'app'
    | 'certificateId'
    | 'anotherCertificate'
    | 'label'
    | 'funnel'
    | 'segment'
    | 'staticSegment'
    | 'campaigns'
    | 'sent'
    | 'crash'
    | 'file'
    | 'eventId'
    | 'exporter'
    | 'asked'
    | 'seen'
  >
> {
  const { entity } = world;
  await ensureSampleMonths(db);
  const [certificate, anotherCertificate] = [await sampleCertificate(0), await sampleCertificate(1)];
  return write(db, async (tx) => {
    const app = await insertSampleApp(tx, entity.id, 'com.example.shop');
    await insertAppSor(tx, entity.id, app.id);
    const read = readPushCertificate(certificate, new Date());
    const { identifier: certificateId } = (await insertPushCertificate(tx, secrets, entity.id, app.id, read))!;
    const { name: label } = (await insertLabel(tx, entity.id, `Label of ${entity.identifier}`))!;
    await insertEventDefinitions(tx, entity.id, app.id, [{ logType: 2, name: `Event of ${entity.identifier}` }]);
    const { items: definitions } = await listEventDefinitions(tx, entity.id, app.id, { offset: 0, limit: 1 });
    const { id } = definitions[0] ?? { id: 0 };
    const { identifier: funnel } = (await insertFunnel(tx, entity.id, {
      name: 'Funnel',
      description: null,
      maxDuration: 60,
      appIds: [app.id],
      createdBy: world.user.id,
      steps: [{ match_name: [{ app_id: app.identifier, log_type: 2, log_name: `Event of ${entity.identifier}` }] }],
    }))!;
    const newSegment = { appId: app.id, description: null, createdBy: world.user.id };
    const { identifier: segment } = (await insertSegment(tx, entity.id, {
      ...newSegment,
      name: 'Everybody',
      filters: { operator: 'and', blocks: [] },
    }))!;
    const { identifier: staticSegment } = (await insertSegment(tx, entity.id, {
      ...newSegment,
      name: 'Static',
      filters: null,
    }))!;
    await tx.query('UPDATE segments SET snapshot_at = now() WHERE entity_id = $1', [entity.id]);
    const campaigns = await insertSampleCampaigns(tx, entity.id, app.id, world.user.id);
    const exporter = await insertSampleExporter(tx, secrets, world, path, app.id);
    const asked = await insertSampleDeviceRequest(tx, secrets, entity.id, { appId: app.id, userId: world.user.id });
    const seen = { deviceId: `device of ${entity.identifier}`, userId: `user of ${entity.identifier}` };
    await sampleActivity(tx, entity.id, { appId: app.id, ...seen });
    const sent = await insertSampleSend(tx, entity.id, {
      appId: app.id,
      campaignIdentifier: campaigns.ongoing,
      ...seen,
    });
    const {
      rows: [crash],
    } = await tx.query<{ identifier: string }>('SELECT identifier FROM crashes WHERE entity_id = $1', [entity.id]);
    const {
      rows: [event],
    } = await tx.query<{ id: string }>('SELECT id::text FROM events WHERE entity_id = $1 LIMIT 1', [entity.id]);
    const { identifier } = await findOrInsertFileJob(tx, secrets, entity.id, {
      kind: 'events',
      format: 'csv',
      query: ALL_EVENTS,
      email: null,
      createdBy: world.user.id,
    });
    const key = `files/${identifier}/0.csv`;
    await files.put(key, asBytes('event_id,name\r\n'));
    await tx.query(
      `UPDATE file_jobs SET state = 'finished', ended_at = now(), first_ended_at = now(),
      file_key = $2, file_bytes = 15 WHERE identifier = $1`,
      [identifier, key],
    );
    const file = {
      identifier,
      token: new URL(fileUrl('http://millrace.test', secrets, identifier)).searchParams.get('token')!,
    };
    const seenToo = { crash: crash!.identifier, eventId: String(id) };
    const made = {
      certificateId,
      anotherCertificate,
      label,
      funnel,
      segment,
      staticSegment,
      campaigns,
      sent,
      ...seenToo,
    };
    return { app, ...made, file, exporter, asked, seen: { ...seen, eventId: event!.id } };
  });
}

async function insertOthers(
  { db, files, secrets, url }: TestStore,
  world: World,
  person: string,
): Promise<
  Pick<
    Sample,
    | 'colleague'
    | 'links'
    | 'serviceTokenId'
    | 'connection'
    | 'spareConnectionId'
    | 'spareSorId'
    | 'sync'
    | 'apps'
    | 'wallet'
    | 'gdpr'
    | 'emptyEntity'
  >
> {
  const { entity, user } = world;
  return write(db, async (tx) => {
    const colleague = await insertUser(tx, {
      email: `colleague-of-${user.email}`,
      passwordHash: '',
      preferedEntityId: entity.id,
    });
    await insertMembership(tx, { userId: colleague.id, entityId: entity.id, rights: ['sor_manage'], admin: false });
    const expiresAt = new Date(Date.now() + 60_000);
    const asked = { name: 'Load', rights: ['sor_manage'], createdBy: user.id, expiresAt } as const;
    const { serviceToken } = await insertServiceToken(tx, entity.id, asked);
    const settings = postgresSettings(url);
    const { password, ...shown } = settings;
    const split = { settings: shown, secretSettings: { password } };
    const insert = async (name: string) =>
      (await insertConnection(tx, secrets, entity.id, { name, connector: 'postgres', createdBy: user.id, ...split }))!;
    const { id, identifier } = await insert('Warehouse');
    const { identifier: spareConnectionId } = await insert('Spare');
    const { identifier: spareSorId } = await insertCustomSor(tx, secrets, entity.id, 'Spare', user.id);
    const connection = { identifier, settings };
    const sync = await insertSampleSync(tx, world, id, person);
    const apps = await insertSampleApps(tx, secrets, entity.id);
    const wallet = await insertSampleWallet(tx, entity.id);
    const gdpr = {
      ...(await insertSampleGdpr(tx, secrets, world, person)),
      ...(await insertSampleArchive(tx, { files, secrets }, world, person)),
    };
    const emptyEntity = await insertEntity(tx, secrets, 'Empty');
    const links = await insertSampleLinks(tx, world, colleague);
    const made = { colleague, links, connection, spareConnectionId, spareSorId, sync, apps, wallet, gdpr, emptyEntity };
    return { ...made, serviceTokenId: serviceToken.identifier };
  });
}

/** The settings of a connection to the Postgres that `url` names. */
export function postgresSettings(url: string): SettingValues & { password: string } {
  const { hostname: host, port, pathname, username: user, password } = new URL(url);
  rememberSecret(decodeURIComponent(password));
  return {
    host,
    port: Number(port),
    database: pathname.slice(1),
    user,
    password: decodeURIComponent(password),
    tls: 'off',
  };
}

/** Sends a call; `token` null sends none. A file goes with the SoR and key of `own`. */
export async function send(
  app: FastifyInstance,
  route: Route,
  call: Call,
  own: World,
  token: string | null,
  headers: Record<string, string> = {},
) {
  const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(call.params?.[name] ?? ''));
  const query = new URLSearchParams(call.query).toString();
  const form = call.file === undefined ? null : importForm(own, call.file);
  return app.inject({
    method: route.method,
    url: query ? `${path}?${query}` : path,
    headers: {
      accept: 'application/vnd.svc.v3',
      ...form?.headers,
      ...(token === null ? {} : { authorization: `Token ${token}` }),
      ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...call.headers,
      ...headers,
    },
    ...(form ? { payload: form.payload } : call.body === undefined ? {} : { payload: JSON.stringify(call.body) }),
  });
}

import { expect, test } from 'vitest';
import { openApiDocument } from '../../server/http/openapi.ts';
import { routes } from '../../server/routes.ts';

/** Every method and path that the reference names, in its order. Names of parameters are Millrace's own. */
const REFERENCE = `
GET /api/apps
GET /api/apps/<app>
PUT /api/apps/<app>
POST /api/apps
GET /api/apps/<app>/api_keys
GET /api/apps/<app>/api_keys/<key>
PUT /api/apps/<app>/api_keys/<key>
POST /api/apps/<app>/api_keys
GET /api/apps_campaign_logs
GET /api/apps/<app>/push_certificates
GET /api/apps/<app>/push_certificates/<cert>
GET /api/customer_profiles
GET /api/customer_profiles/export
GET /api/customer_profiles/<customer>
GET /api/attribute_values
GET /api/customer_attribute_values
POST /api/attribute_values
POST /api/attribute_values/batch_import
GET /api/attribute_values/template
GET /api/customer_attributes/<ca>
GET /api/attribute_values/import_jobs
GET /api/attribute_values/import_errors
GET /api/system_of_records
GET /api/system_of_records/<sor>
POST /api/system_of_records
PUT /api/system_of_records/<sor>
DELETE /api/system_of_records/<sor>
PUT /api/system_of_records/<sor>/disable
PUT /api/system_of_records/<sor>/enable
GET /api/funnels
GET /api/funnels/<funnel>
POST /api/funnels
PUT /api/funnels/<funnel>
PUT /api/funnels/<funnel>/archive
PUT /api/funnels/<funnel>/restore
POST /api/funnels/quick_stats
POST /api/funnels/explore
GET /api/data_exporters
GET /api/data_exporters/<exporter>
POST /api/data_exporters
PUT /api/data_exporters/<exporter>
DELETE /api/data_exporters/<exporter>
PUT /api/data_exporters/<exporter>/activate
PUT /api/data_exporters/<exporter>/deactivate
GET /api/data_exporters/<exporter>/exports/<export>
GET /api/apps/<app>/data_wallet/settings
PUT /api/apps/<app>/data_wallet/settings
PATCH /api/apps/<app>/data_wallet/settings
GET /api/apps/<app>/data_wallet/legal_texts
GET /api/apps/<app>/data_wallet/legal_texts/<text>
POST /api/apps/<app>/data_wallet/legal_texts
PUT /api/apps/<app>/data_wallet/legal_texts/<text>
PATCH /api/apps/<app>/data_wallet/legal_texts/<text>
DELETE /api/apps/<app>/data_wallet/legal_texts/<text>
GET /api/apps/<app>/data_wallet/categories
GET /api/apps/<app>/data_wallet/categories/<category>
POST /api/apps/<app>/data_wallet/categories
PUT /api/apps/<app>/data_wallet/categories/<category>
PATCH /api/apps/<app>/data_wallet/categories/<category>
DELETE /api/apps/<app>/data_wallet/categories/<category>
GET /api/apps/<app>/data_wallet/recipients
GET /api/apps/<app>/data_wallet/recipients/<recipient>
POST /api/apps/<app>/data_wallet/recipients
PUT /api/apps/<app>/data_wallet/recipients/<recipient>
PATCH /api/apps/<app>/data_wallet/recipients/<recipient>
DELETE /api/apps/<app>/data_wallet/recipients/<recipient>
GET /api/apps/<app>/data_wallet/purposes
GET /api/apps/<app>/data_wallet/purposes/<purpose>
POST /api/apps/<app>/data_wallet/purposes
POST /api/gdpr/access_user_data
GET /api/gdpr_request/export
POST /api/gdpr/delete_user_data
GET /api/gdpr_request/delete
GET /api/gdpr/latest_requests
GET /api/campaigns
GET /api/campaigns/list_export
GET /api/campaigns/list_export.<format>
POST /api/campaign
PUT /api/campaign/<campaign>/launch
POST /api/transac
GET /api/transac/<campaign>/reports
POST /api/transac_push
GET /api/labels
POST /api/labels
PUT /api/labels/<name>
DELETE /api/labels/<name>
GET /api/crashes/<crash>/occurrences
GET /api/crashes/<crash>/export_occurrences
GET /api/crashes/<crash>/export_occurrences.<format>
GET /api/apps/<app>/analytics/events
GET /api/segments
GET /api/apps/<app>/events
GET /api/apps/<app>/events_export
GET /api/apps/<app>/events_export.<format>
GET /api/apps/<app>/devices/<device>/events
GET /api/users/<user>/events
GET /api/apps/<app>/sessions
GET /api/apps/<app>/sessions_export
GET /api/apps/<app>/sessions_export.<format>
GET /api/apps/<app>/devices
GET /api/apps/<app>/devices_export
GET /api/apps/<app>/devices_export.<format>
GET /api/apps/<app>/devices/<device>
GET /api/segments/<segment>/devices
GET /api/segments/<segment>/devices_export
GET /api/segments/<segment>/devices_export.<format>
GET /api/apps/<app>/locations
GET /api/apps/<app>/locations_export
GET /api/apps/<app>/locations_export.<format>
GET /api/performance_export
GET /api/performance_export.<format>
GET /api/apps/<app>/analytics/download_metrics
GET /api/apps/<app>/analytics/download_metrics.<format>
GET /api/events_export
GET /api/events_export.<format>
GET /api/event_details_export
GET /api/event_details_export.<format>
POST /api/login
`.trim().split('\n');

test('the API document has every method and path of the reference', () => {
  const { paths } = openApiDocument(routes, { publicUrl: 'https://millrace.example', version: '1' }) as { paths: Record<string, object> };
  const described = new Set(Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{[^}]+\}/g, '<>')}`)));
  expect(REFERENCE.filter((line) => !described.has(line.replaceAll(/<[^>]+>/g, '<>')))).toEqual([]);
  expect(REFERENCE).toHaveLength(new Set(REFERENCE).size);
});

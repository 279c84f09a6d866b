import { expect, test } from 'vitest';
import { CALLED_OPERATIONS } from '../../../api/core/called-operations.ts';
import { rightsFor } from '../../../api/core/called-operation.ts';

const called = (name: string) => CALLED_OPERATIONS.find(({ id }) => id === name)!;

test.each([
  ['createCampaign', {}, ['campaign_draft']],
  ['createCampaign', { type: 'classic', variants: null }, ['campaign_draft']],
  ['createCampaign', { type: 'dynamic' }, ['campaign_draft', 'dynamic_campaigns']],
  ['createCampaign', { type: 'classic', variants: [] }, ['campaign_draft', 'ab_testing']],
  ['testCampaign', { type: 'transactional' }, ['campaign_draft', 'campaign_publish', 'transactional_campaigns']],
  ['launchCampaign', { type: 'constructor', variants: [] }, ['campaign_publish']],
  ['updatePushProvider', { settings: { project: 'a' } }, ['push_certificates_manage']],
  ['updatePushProvider', { settings: null }, ['push_certificates_manage']],
  ['updatePushProvider', { settings: { endpoint: 'a' } }, ['push_certificates_manage', 'gdpr_data_manage']],
  ['updateApp', { name: 'a', gdpr_approval: false }, ['apps_manage', 'gdpr_data_manage']],
  ['viewFunnelStats', { breakdown: 'device_model' }, ['funnels_view']],
  ['viewFunnelStats', { breakdown: 'detail.price' }, ['funnels_view', 'usage_analytics_view']],
])('the table says which rights %s needs for %j', (name, object, rights) => {
  expect(rightsFor(called(name), object)).toEqual(rights);
});

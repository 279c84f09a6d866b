/** Joins the routes of all features. */
import { accountPageRoutes } from './accounts/account-pages.ts';
import { auditLogRoutes } from './accounts/audit-log.ts';
import { entityRoutes } from './accounts/entities.ts';
import { invitationRoutes } from './accounts/invitations.ts';
import { passwordResetRoutes } from './accounts/password-resets.ts';
import { serviceTokenRoutes } from './accounts/service-tokens.ts';
import { sessionRoutes } from './accounts/session.ts';
import { signingKeyRoutes } from './accounts/signing-keys.ts';
import { userRoutes } from './accounts/users.ts';
import { crashRoutes } from './analytics/crashes.ts';
import { eventAnalyticsRoutes } from './analytics/event-analytics.ts';
import { funnelStatsRoutes } from './analytics/funnel-stats.ts';
import { funnelRoutes } from './analytics/funnels.ts';
import { explainSegment } from './analytics/explain-segment.ts';
import { peopleRoutes } from './analytics/people.ts';
import { personTimelineRoutes } from './analytics/person-timeline.ts';
import { segmentPeopleRoutes } from './analytics/segment-people.ts';
import { segmentRoutes } from './analytics/segments.ts';
import { usageListRoutes } from './analytics/usage-lists.ts';
import { apiKeyRoutes } from './apps/api-keys.ts';
import { appGroupRoutes } from './apps/app-groups.ts';
import { appRoutes } from './apps/apps.ts';
import { dataWalletRoutes } from './apps/data-wallet.ts';
import { labelRoutes } from './apps/labels.ts';
import { pushCertificateRoutes } from './apps/push-certificates.ts';
import { userTokenKeyRoutes } from './apps/user-token-keys.ts';
import { attributeValueRoutes } from './attributes/attribute-values.ts';
import { customerAttributeRoutes } from './attributes/customer-attributes.ts';
import { customerProfileRoutes } from './attributes/customer-profiles.ts';
import { systemOfRecordsRoutes } from './attributes/systems-of-records.ts';
import { campaignAudienceRoutes } from './campaigns/campaign-audience.ts';
import { campaignResultRoutes } from './campaigns/campaign-results.ts';
import { campaignRoutes } from './campaigns/campaigns.ts';
import { campaignPreviewRoutes } from './campaigns/preview.ts';
import { dataExporterActionRoutes } from './exports/data-exporter-actions.ts';
import { dataExporterRoutes } from './exports/data-exporters.ts';
import { exportActionRoutes } from './exports/export-actions.ts';
import { exportReconciliationRoutes } from './exports/export-reconciliation.ts';
import { exportRunRoutes } from './exports/export-runs.ts';
import { feedRoutes } from './feed/feed.ts';
import { campaignFileRoutes } from './files/campaign-files.ts';
import { downloadFileRoutes } from './files/download-file.ts';
import { profileFileRoutes } from './files/profile-files.ts';
import { usageListFileRoutes } from './files/usage-list-files.ts';
import { usageFileRoutes } from './files/usage-files.ts';
import { gdprDownloadRoutes } from './gdpr/gdpr-downloads.ts';
import { gdprHoldRoutes } from './gdpr/gdpr-holds.ts';
import { gdprIdentifierRoutes } from './gdpr/gdpr-identifiers.ts';
import { gdprLocationRoutes } from './gdpr/gdpr-locations.ts';
import { gdprReadmissionRoutes } from './gdpr/gdpr-readmission.ts';
import { gdprReceiptRoutes } from './gdpr/gdpr-receipts.ts';
import { gdprRoutes } from './gdpr/gdpr.ts';
import type { Route } from './http/route.ts';
import { batchImportRoutes } from './imports/batch-import.ts';
import { importRoutes } from './imports/imports.ts';
import { attentionRoutes } from './jobs/attention.ts';
import { healthRoutes } from './jobs/health.ts';
import { campaignLogRoutes } from './sends/campaign-logs.ts';
import { deviceMessageRoutes } from './sends/device-messages.ts';
import { pushCheckRoutes } from './sends/push-check.ts';
import { pushProviderRoutes } from './sends/push-providers.ts';
import { explainDelivery } from './sends/explain-delivery.ts';
import { pushOutcomes } from './sends/push-outcomes.ts';
import { sendRequestRoutes } from './sends/send-requests.ts';
import { campaignTestRoutes, transactionalRoutes } from './sends/transactional.ts';
import { connectionCheckRoutes } from './syncs/connection-checks.ts';
import { connectionRoutes } from './syncs/connections.ts';
import { connectorRoutes } from './syncs/connectors.ts';
import { syncActionRoutes } from './syncs/sync-actions.ts';
import { syncErrorRoutes } from './syncs/sync-errors.ts';
import { syncRunRoutes } from './syncs/sync-runs.ts';
import { syncRoutes } from './syncs/syncs.ts';
import { eventDefinitionRoutes } from './tracking/event-definitions.ts';
import { callReportRoutes } from './tracking/call-reports.ts';
import { trackingPrivacyRoutes } from './tracking/tracking-privacy.ts';
import { trackingRoutes } from './tracking/tracking.ts';

/** All routes, for the server, the API page and the tests over all routes. */
export const routes: readonly Route[] = [
  ...attentionRoutes,
  ...healthRoutes,
  ...sessionRoutes,
  ...systemOfRecordsRoutes,
  ...customerAttributeRoutes,
  ...attributeValueRoutes,
  ...customerProfileRoutes,
  ...batchImportRoutes,
  ...importRoutes,
  ...feedRoutes,
  ...connectorRoutes,
  ...connectionRoutes,
  ...connectionCheckRoutes,
  ...syncRoutes,
  ...syncActionRoutes,
  ...syncRunRoutes,
  ...syncErrorRoutes,
  ...dataExporterRoutes,
  ...dataExporterActionRoutes,
  ...signingKeyRoutes,
  ...exportRunRoutes,
  ...exportActionRoutes,
  ...exportReconciliationRoutes,
  ...appRoutes,
  ...appGroupRoutes,
  ...apiKeyRoutes,
  ...userTokenKeyRoutes,
  ...pushCertificateRoutes,
  ...pushProviderRoutes,
  ...pushCheckRoutes,
  pushOutcomes,
  ...labelRoutes,
  ...eventDefinitionRoutes,
  ...dataWalletRoutes,
  ...trackingRoutes,
  ...trackingPrivacyRoutes,
  ...callReportRoutes,
  ...usageListRoutes,
  ...peopleRoutes,
  ...personTimelineRoutes,
  explainSegment,
  explainDelivery,
  ...funnelRoutes,
  ...funnelStatsRoutes,
  ...segmentRoutes,
  ...segmentPeopleRoutes,
  ...eventAnalyticsRoutes,
  ...crashRoutes,
  ...campaignRoutes,
  ...campaignPreviewRoutes,
  ...campaignAudienceRoutes,
  ...campaignResultRoutes,
  ...usageListFileRoutes,
  ...usageFileRoutes,
  ...profileFileRoutes,
  ...campaignFileRoutes,
  ...downloadFileRoutes,
  ...campaignLogRoutes,
  ...campaignTestRoutes,
  ...transactionalRoutes,
  ...sendRequestRoutes,
  ...deviceMessageRoutes,
  ...gdprRoutes,
  ...gdprDownloadRoutes,
  ...gdprReceiptRoutes,
  ...gdprHoldRoutes,
  ...gdprReadmissionRoutes,
  ...gdprIdentifierRoutes,
  ...gdprLocationRoutes,
  ...userRoutes,
  ...invitationRoutes,
  ...passwordResetRoutes,
  ...accountPageRoutes,
  ...serviceTokenRoutes,
  ...entityRoutes,
  ...auditLogRoutes,
];

import type { Route } from '../route.ts';
import { accountPageRoutes } from './account-pages.ts';
import { apiKeyRoutes } from './api-keys.ts';
import { appGroupRoutes } from './app-groups.ts';
import { appRoutes } from './apps.ts';
import { attributeValueRoutes } from './attribute-values.ts';
import { auditLogRoutes } from './audit-log.ts';
import { batchImportRoutes } from './batch-import.ts';
import { connectionCheckRoutes } from './connection-checks.ts';
import { connectionRoutes } from './connections.ts';
import { connectorRoutes } from './connectors.ts';
import { customerAttributeRoutes } from './customer-attributes.ts';
import { customerProfileRoutes } from './customer-profiles.ts';
import { dataCategoryRoutes } from './data-categories.ts';
import { dataExporterActionRoutes } from './data-exporter-actions.ts';
import { dataExporterRoutes } from './data-exporters.ts';
import { deletionListRoutes } from './deletion-lists.ts';
import { entityRoutes } from './entities.ts';
import { eventDefinitionRoutes } from './event-definitions.ts';
import { exportActionRoutes } from './export-actions.ts';
import { exportReconciliationRoutes } from './export-reconciliation.ts';
import { exportRunRoutes } from './export-runs.ts';
import { feedRoutes } from './feed.ts';
import { gdprDecisionRoutes } from './gdpr-decisions.ts';
import { gdprDownloadRoutes } from './gdpr-downloads.ts';
import { gdprHoldRoutes } from './gdpr-holds.ts';
import { gdprIdentifierRoutes } from './gdpr-identifiers.ts';
import { gdprReadmissionRoutes } from './gdpr-readmission.ts';
import { gdprReceiptRoutes } from './gdpr-receipts.ts';
import { gdprRequestRoutes } from './gdpr-requests.ts';
import { gdprRoutes } from './gdpr.ts';
import { importErrorsFileRoutes } from './import-errors-file.ts';
import { importTemplateRoutes } from './import-template.ts';
import { importRoutes } from './imports.ts';
import { invitationRoutes } from './invitations.ts';
import { labelRoutes } from './labels.ts';
import { ingestionRoutes } from './ingestion.ts';
import { notifyEmailsRoutes } from './notify-emails.ts';
import { ownPasswordRoutes } from './own-password.ts';
import { passwordResetRoutes } from './password-resets.ts';
import { pushCertificateRoutes } from './push-certificates.ts';
import { legalTextRoutes } from './legal-texts.ts';
import { purposeRoutes } from './purposes.ts';
import { recipientRoutes } from './recipients.ts';
import { serviceTokenRoutes } from './service-tokens.ts';
import { sessionRoutes } from './session.ts';
import { signingKeyRoutes } from './signing-keys.ts';
import { syncActionRoutes } from './sync-actions.ts';
import { syncErrorRoutes } from './sync-errors.ts';
import { syncRunRoutes } from './sync-runs.ts';
import { syncRoutes } from './syncs.ts';
import { systemOfRecordsRoutes } from './systems-of-records.ts';
import { trackingPrivacyRoutes } from './tracking-privacy.ts';
import { trackingRoutes } from './tracking.ts';
import { userTokenKeyRoutes } from './user-token-keys.ts';
import { userRoutes } from './users.ts';
import { walletSettingsRoutes } from './wallet-settings.ts';

/** Every route there is: the server, the API page and the tests over all routes come from this list. */
export const routes: readonly Route[] = [
  ...sessionRoutes, ...systemOfRecordsRoutes, ...notifyEmailsRoutes, ...customerAttributeRoutes, ...attributeValueRoutes,
  ...customerProfileRoutes, ...batchImportRoutes, ...importTemplateRoutes, ...importRoutes, ...importErrorsFileRoutes,
  ...feedRoutes, ...connectorRoutes, ...connectionRoutes, ...connectionCheckRoutes,
  ...syncRoutes, ...syncActionRoutes, ...syncRunRoutes, ...syncErrorRoutes,
  ...dataExporterRoutes, ...dataExporterActionRoutes,
  ...signingKeyRoutes,
  ...exportRunRoutes, ...exportActionRoutes, ...exportReconciliationRoutes, ...deletionListRoutes,
  ...appRoutes, ...appGroupRoutes, ...apiKeyRoutes, ...userTokenKeyRoutes,
  ...pushCertificateRoutes, ...labelRoutes, ...eventDefinitionRoutes,
  ...walletSettingsRoutes, ...legalTextRoutes, ...dataCategoryRoutes, ...recipientRoutes, ...purposeRoutes,
  ...trackingRoutes, ...trackingPrivacyRoutes, ...ingestionRoutes,
  ...gdprRoutes, ...gdprRequestRoutes, ...gdprDownloadRoutes, ...gdprReceiptRoutes, ...gdprDecisionRoutes, ...gdprHoldRoutes,
  ...gdprReadmissionRoutes, ...gdprIdentifierRoutes,
  ...userRoutes, ...ownPasswordRoutes, ...invitationRoutes, ...passwordResetRoutes, ...accountPageRoutes,
  ...serviceTokenRoutes, ...entityRoutes, ...auditLogRoutes,
];

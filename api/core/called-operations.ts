import { readOperation } from './called-operation.ts';

/**
 * Each operation as a client calls it. Made by `npm run docs` from the operations themselves, whose schemas cost time
 * to load.
 */
export const CALLED_OPERATIONS = `
acceptInvitation POST /api/invitations/accept none audited=true
acceptSyncSchema POST /api/syncs/:sync_id/accept_schema token rights=sor_manage audited=true
activateDataExporter PUT /api/data_exporters/:exporter_id/activate token rights=sor_manage,usage_analytics_view audited=true
addSegmentPeople POST /api/segments/:identifier/people token rights=segments_manage audited=true
approveGdprRequest POST /api/gdpr/requests/:request_id/approve token rights=gdpr_data_manage audited=true
archiveFunnel PUT /api/funnels/:identifier/archive token rights=funnels_manage audited=true
backfillExports POST /api/data_exporters/:exporter_id/backfills token rights=sor_manage,usage_analytics_view audited=true
cancelCampaign PUT /api/campaign/:campaign_identifier/cancel token rights=campaign_publish audited=true
  rightsByType=transactional:transactional_campaigns,dynamic:dynamic_campaigns
cancelExportRun POST /api/data_exporters/:exporter_id/runs/:run_id/cancel token rights=sor_manage,usage_analytics_view audited=true
cancelImport POST /api/attribute_values/imports/:import_id/cancel token rights=sor_manage audited=true
cancelSend DELETE /api/transac/:request_id token rights=campaign_publish,transactional_campaigns audited=true
cancelSyncRun POST /api/syncs/:sync_id/runs/:run_id/cancel token rights=sor_manage audited=true
changeOwnPassword PUT /api/users/me/password token audited=true role=person
checkConnection POST /api/connections/:connection_id/check token rights=sor_manage audited=true
checkConnectionSettings POST /api/connections/check token rights=sor_manage audited=true
checkDataExporter POST /api/data_exporters/:exporter_id/check token rights=sor_manage,usage_analytics_view audited=true
checkLiveness GET /health/live none bare=true isProbe=true
checkPush POST /api/apps/:app_identifier/push_check token rights=push_certificates_manage audited=true
checkReadiness GET /health/ready none bare=true isProbe=true
countAppDays GET /api/apps/:app_identifier/analytics/days token rights=usage_analytics_view
countAppEvents GET /api/apps/:app_identifier/analytics/events token rights=usage_analytics_view
countCalls GET /api/apps/:app_identifier/ingestion token rights=usage_analytics_view
countCampaignAudience GET /api/campaigns/:identifier/audience token rights=campaign_view audited=true
countImportRows GET /api/attribute_values/import_days token rights=sor_manage
countPersonDays POST /api/people/days token audited=true idempotencyKey=ignored
  rightsByField=request:gdpr_data_manage,
    message:campaign_view,
    attribute:sor_manage,
    session:usage_analytics_view,
    event:usage_analytics_view
countSegmentDays GET /api/segments/:identifier/days token rights=segments_view
createApiKey POST /api/apps/:app_identifier/api_keys token rights=api_keys_manage audited=true
createApp POST /api/apps token rights=apps_manage audited=true
  rightsByField=gdpr_emails:gdpr_data_manage,
    gdpr_approval:gdpr_data_manage,
    verified_users:gdpr_data_manage,
    outcomes_connection:gdpr_data_manage
createAppGroup POST /api/app_groups token rights=apps_manage audited=true
createCampaign POST /api/campaign token rights=campaign_draft audited=true
  rightsByType=transactional:transactional_campaigns,dynamic:dynamic_campaigns
  rightsByField=variants:ab_testing
createConnection POST /api/connections token rights=sor_manage audited=true
createCustomerAttribute POST /api/customer_attributes token rights=sor_manage audited=true
createDataCategory POST /api/apps/:app_identifier/data_wallet/categories token rights=gdpr_data_manage audited=true
createDataExporter POST /api/data_exporters token rights=sor_manage,usage_analytics_view audited=true
createEntity POST /api/entities token audited=true role=superadmin
createFunnel POST /api/funnels token rights=funnels_manage audited=true
createGdprHold POST /api/gdpr/holds token rights=gdpr_data_manage audited=true
createLabel POST /api/labels token rights=usage_analytics_manage audited=true
createLegalText POST /api/apps/:app_identifier/data_wallet/legal_texts token rights=gdpr_data_manage audited=true
createPurpose POST /api/apps/:app_identifier/data_wallet/purposes token rights=gdpr_data_manage audited=true
createPushCertificate POST /api/apps/:app_identifier/push_certificates token rights=push_certificates_manage audited=true
createRecipient POST /api/apps/:app_identifier/data_wallet/recipients token rights=gdpr_data_manage audited=true
createSegment POST /api/segments token rights=segments_manage audited=true
createServiceToken POST /api/service_tokens token audited=true role=person
createSync POST /api/syncs token rights=sor_manage audited=true
createSystemOfRecord POST /api/system_of_records token rights=sor_manage audited=true
createUserTokenKey POST /api/apps/:app_identifier/user_token_keys token rights=gdpr_data_manage audited=true
deactivateDataExporter PUT /api/data_exporters/:exporter_id/deactivate token rights=sor_manage,usage_analytics_view audited=true
decideAlias PUT /api/gdpr/aliases token rights=gdpr_data_manage audited=true
declineGdprRequest POST /api/gdpr/requests/:request_id/decline token rights=gdpr_data_manage audited=true
deleteAppGroup DELETE /api/app_groups/:group_identifier token rights=apps_manage audited=true
deleteCampaign DELETE /api/campaign/:campaign_identifier token rights=campaign_draft audited=true
  rightsByType=transactional:transactional_campaigns,dynamic:dynamic_campaigns
deleteConnection DELETE /api/connections/:connection_id token rights=sor_manage audited=true
deleteCrash DELETE /api/apps/:app_identifier/crashes/:crash_identifier token rights=crashes_manage audited=true
deleteCustomerAttribute DELETE /api/customer_attributes/:ca_identifier token rights=sor_manage audited=true
deleteDataCategory DELETE /api/apps/:app_identifier/data_wallet/categories/:category_identifier token rights=gdpr_data_manage audited=true
deleteDataExporter DELETE /api/data_exporters/:exporter_id token rights=sor_manage,usage_analytics_view audited=true
deleteEntity DELETE /api/entities/:entity_id token audited=true role=superadmin
deleteEventDefinition DELETE /api/apps/:app_identifier/event_definitions/:event_id token rights=usage_analytics_manage audited=true
deleteLabel DELETE /api/labels/:name token rights=usage_analytics_manage audited=true
deleteLegalText DELETE /api/apps/:app_identifier/data_wallet/legal_texts/:legal_text_identifier token rights=gdpr_data_manage audited=true
deletePurpose DELETE /api/apps/:app_identifier/data_wallet/purposes/:purpose_identifier token rights=gdpr_data_manage audited=true
deletePushProvider DELETE /api/apps/:app_identifier/push_providers/:platform token rights=push_certificates_manage audited=true
deleteRecipient DELETE /api/apps/:app_identifier/data_wallet/recipients/:recipient_identifier token rights=gdpr_data_manage audited=true
deleteSegment DELETE /api/segments/:identifier token rights=segments_manage audited=true
deleteSync DELETE /api/syncs/:sync_id token rights=sor_manage audited=true
deleteSystemOfRecord DELETE /api/system_of_records/:sor_identifier token rights=sor_manage audited=true
deleteUserTokenKey DELETE /api/apps/:app_identifier/user_token_keys/:key_identifier token rights=gdpr_data_manage audited=true
disableSystemOfRecord PUT /api/system_of_records/:sor_identifier/disable token rights=sor_manage audited=true
downloadArchive GET /api/gdpr/downloads/:request_id/:ordinal/:signature none audited=true contentType=application/zip
downloadFile GET /api/files/:file_identifier none audited=true contentType=application/octet-stream
downloadImportErrors GET /api/attribute_values/imports/:import_id/errors.csv token rights=sor_manage audited=true contentType=text/csv
downloadImportTemplate GET /api/attribute_values/template sor_key contentType=text/csv
downloadSorTemplate GET /api/system_of_records/:sor_identifier/template token rights=sor_manage contentType=text/csv
downloadSyncErrors GET /api/syncs/:sync_id/runs/:run_id/errors.csv token rights=sor_manage audited=true contentType=text/csv
dryRunSync POST /api/syncs/:sync_id/dry_run token rights=sor_manage audited=true
duplicateCampaign POST /api/campaign/:campaign_identifier/duplicate token rights=campaign_draft audited=true
  rightsByType=transactional:transactional_campaigns,dynamic:dynamic_campaigns
  rightsByField=variants:ab_testing
enableSystemOfRecord PUT /api/system_of_records/:sor_identifier/enable token rights=sor_manage audited=true
endSession DELETE /api/session token audited=true role=person
explainDelivery POST /api/people/delivery token rights=campaign_view audited=true idempotencyKey=ignored
explainMessages GET /api/campaigns/:identifier/why token rights=campaign_view audited=true
explainSegment POST /api/people/segment token rights=segments_view audited=true idempotencyKey=ignored
exploreFunnel POST /api/funnels/explore token rights=funnels_view idempotencyKey=ignored
exportAuditLog GET /api/audit_log.csv token audited=true contentType=text/csv role=admin
exportCampaigns GET /api/campaigns/list_export token rights=campaign_view audited=true
exportCampaignsAs GET /api/campaigns/list_export.:format token rights=campaign_view audited=true
exportCustomerProfiles GET /api/customer_profiles/export token rights=sor_manage audited=true
exportCustomerProfilesAs GET /api/customer_profiles/export.:format token rights=sor_manage audited=true
exportDevices GET /api/apps/:app_identifier/devices_export token rights=usage_analytics_view audited=true
exportDevicesAs GET /api/apps/:app_identifier/devices_export.:format token rights=usage_analytics_view audited=true
exportEvents GET /api/apps/:app_identifier/events_export token rights=usage_analytics_view audited=true
exportEventsAs GET /api/apps/:app_identifier/events_export.:format token rights=usage_analytics_view audited=true
exportLocations GET /api/apps/:app_identifier/locations_export token rights=usage_analytics_view audited=true
exportLocationsAs GET /api/apps/:app_identifier/locations_export.:format token rights=usage_analytics_view audited=true
exportSegmentDevices GET /api/segments/:segment_identifier/devices_export token rights=usage_analytics_view audited=true
exportSegmentDevicesAs GET /api/segments/:segment_identifier/devices_export.:format token rights=usage_analytics_view audited=true
exportSessions GET /api/apps/:app_identifier/sessions_export token rights=usage_analytics_view audited=true
exportSessionsAs GET /api/apps/:app_identifier/sessions_export.:format token rights=usage_analytics_view audited=true
feedAttributeValues POST /api/attribute_values sor_key audited=true
findExportRun GET /api/export_runs/:run_id token rights=sor_manage,usage_analytics_view
findPeople POST /api/people/find token audited=true idempotencyKey=ignored
  rightsByField=attribute:sor_manage
findSyncRun GET /api/sync_runs/:run_id token rights=sor_manage
importAttributeValues POST /api/attribute_values/batch_import sor_key audited=true uploadPart=file
importWithToken POST /api/attribute_values/imports token rights=sor_manage audited=true uploadPart=file
inviteUser POST /api/users token audited=true role=admin
launchCampaign PUT /api/campaign/:campaign_identifier/launch token rights=campaign_publish audited=true
  rightsByType=transactional:transactional_campaigns,dynamic:dynamic_campaigns
listAliases GET /api/gdpr/aliases token rights=gdpr_data_manage audited=true
listApiKeys GET /api/apps/:app_identifier/api_keys token rights=api_keys_manage audited=true
listAppGroups GET /api/app_groups token rights=apps
listApps GET /api/apps token rights=apps audited=true
listAttention GET /api/attention token
listAuditEntries GET /api/audit_log token audited=true role=admin
listCampaignSends GET /api/campaigns/:identifier/requests token rights=campaign_view
listCampaignTests GET /api/campaigns/:identifier/tests token rights=campaign_view audited=true
listCampaigns GET /api/campaigns token rights=campaign_view bare=true
listConnections GET /api/connections token rights=sor_manage
listConnectors GET /api/connectors token rights=sor_manage
listCrashOccurrences GET /api/crashes/:crash_identifier/occurrences token bare=true
listCrashes GET /api/apps/:app_identifier/crashes token rights=usage_analytics_view
listCustomerProfiles GET /api/customer_profiles token rights=sor_manage audited=true
listDataCategories GET /api/apps/:app_identifier/data_wallet/categories token rights=gdpr_data_manage
listDataExporters GET /api/data_exporters token rights=sor_manage,usage_analytics_view
listDeletionLists GET /api/data_exporters/:exporter_id/deletion_lists token rights=sor_manage,usage_analytics_view
listDeviceEvents GET /api/apps/:app_identifier/devices/:device_identifier/events token rights=usage_analytics_view audited=true
listDevices GET /api/apps/:app_identifier/devices token rights=usage_analytics_view audited=true
listEntities GET /api/entities token audited=true role=superadmin
listEventDefinitions GET /api/apps/:app_identifier/event_definitions token rights=usage_analytics_view
listEventValues GET /api/apps/:app_identifier/analytics/event_values token rights=usage_analytics_view
listEvents GET /api/apps/:app_identifier/events token rights=usage_analytics_view audited=true
listExportRuns GET /api/data_exporters/:exporter_id/runs token rights=sor_manage,usage_analytics_view
listFeedRequests GET /api/attribute_values/feeds token rights=sor_manage
listFunnelPeople POST /api/funnels/people token rights=usage_analytics_view audited=true idempotencyKey=ignored
listFunnels GET /api/funnels token rights=funnels_view
listGdprHolds GET /api/gdpr/holds token rights=gdpr_data_manage audited=true
listGdprIdentifiers GET /api/gdpr/requests/:request_id/identifiers token rights=gdpr_data_manage audited=true
listGdprReceipts GET /api/gdpr/requests/:request_id/receipt token rights=gdpr_data_manage audited=true
listGdprRequests GET /api/gdpr/requests token rights=gdpr_data_manage
listImportErrors GET /api/attribute_values/import_errors token rights=sor_manage audited=true
listImportSummaries GET /api/attribute_values/imports token rights=sor_manage
listImports GET /api/attribute_values/import_jobs token rights=sor_manage
listInappMessages GET /v1/inapp app_key
listInvitations GET /api/invitations token role=admin
listLabels GET /api/labels token rights=usage_analytics_manage
listLatestGdprRequests GET /api/gdpr/latest_requests token rights=gdpr_data_manage audited=true
listLegalTexts GET /api/apps/:app_identifier/data_wallet/legal_texts token rights=gdpr_data_manage
listLiveCalls GET /api/apps/:app_identifier/live token rights=usage_analytics_view audited=true isFollowed=true
listLocations GET /api/apps/:app_identifier/locations token rights=usage_analytics_view audited=true
listPersonMessages POST /api/people/messages token rights=campaign_view audited=true idempotencyKey=ignored
listPersonalDataLocations GET /api/gdpr/locations token rights=gdpr_data_manage
listPrivacyRequests GET /api/apps/:app_identifier/privacy_requests token rights=gdpr_data_manage audited=true
listPurposes GET /api/apps/:app_identifier/data_wallet/purposes token rights=gdpr_data_manage
listPushCertificates GET /api/apps/:app_identifier/push_certificates token rights=push_certificates_manage
listReceiptsOfPerson GET /api/gdpr/receipts token rights=gdpr_data_manage audited=true
listRecipients GET /api/apps/:app_identifier/data_wallet/recipients token rights=gdpr_data_manage
listRefusedCalls GET /api/apps/:app_identifier/refused_calls token rights=usage_analytics_view audited=true
listSegmentChanges GET /api/segments/:identifier/changes token rights=segments_view,usage_analytics_view audited=true
listSegmentDevices GET /api/segments/:segment_identifier/devices token rights=usage_analytics_view audited=true
listSegmentPeople GET /api/segments/:identifier/people token rights=segments_view,usage_analytics_view audited=true
listSegments GET /api/segments token rights=segments_view
listSendDecisions GET /api/transac/:request_id/decisions token rights=campaign_view audited=true
listServiceTokens GET /api/service_tokens token role=person
listSessions GET /api/apps/:app_identifier/sessions token rights=usage_analytics_view audited=true
listSigningKeys GET /.well-known/jwks.json none bare=true
listStreams GET /api/connections/:connection_id/streams token rights=sor_manage audited=true
listSyncErrors GET /api/syncs/:sync_id/runs/:run_id/errors token rights=sor_manage audited=true
listSyncRequests GET /api/syncs/:sync_id/runs/:run_id/requests token rights=sor_manage audited=true
listSyncRuns GET /api/syncs/:sync_id/runs token rights=sor_manage
listSyncs GET /api/syncs token rights=sor_manage
listSystemsOfRecords GET /api/system_of_records token rights=sor_manage audited=true
listUserEvents GET /api/users/:user_id/events token rights=usage_analytics_view audited=true
listUserTokenKeys GET /api/apps/:app_identifier/user_token_keys token rights=gdpr_data_manage audited=true
listUsers GET /api/users token role=admin
login POST /api/login none audited=true
logout POST /api/logout token audited=true idempotencyKey=ignored role=person
mailPasswordReset POST /api/users/:user_id/password_reset token audited=true role=admin
openForgottenPasswordPage GET /reset none contentType=text/html
openInvitationPage GET /invite/:token none contentType=text/html
openPasswordResetPage GET /reset/:token none contentType=text/html
openSession POST /api/session none audited=true
patchDataCategory PATCH /api/apps/:app_identifier/data_wallet/categories/:category_identifier token rights=gdpr_data_manage audited=true
patchLegalText PATCH /api/apps/:app_identifier/data_wallet/legal_texts/:legal_text_identifier token rights=gdpr_data_manage audited=true
patchPurpose PATCH /api/apps/:app_identifier/data_wallet/purposes/:purpose_identifier token rights=gdpr_data_manage audited=true
patchRecipient PATCH /api/apps/:app_identifier/data_wallet/recipients/:recipient_identifier token rights=gdpr_data_manage audited=true
patchWalletLanguages PATCH /api/apps/:app_identifier/data_wallet/settings token rights=gdpr_data_manage audited=true
pauseSync POST /api/syncs/:sync_id/pause token rights=sor_manage audited=true
planCampaign GET /api/campaigns/:identifier/plan token rights=campaign_view audited=true
previewCampaign POST /api/campaigns/preview token rights=campaign_view audited=true idempotencyKey=ignored
  rightsByField=user:sor_manage
previewSegment POST /api/segments/preview token rights=segments_view audited=true idempotencyKey=ignored
previewUserIdentifiers GET /api/gdpr/identifiers token rights=gdpr_data_manage audited=true
quickFunnelStats POST /api/funnels/quick_stats token rights=funnels_view audited=true idempotencyKey=ignored
  rightsByField=breakdown=detail.*:usage_analytics_view
readAttributeValues GET /api/attribute_values token rights=sor_manage audited=true
readCustomerAttributeValues GET /api/customer_attribute_values token rights=sor_manage audited=true
readSyncLog GET /api/syncs/:sync_id/runs/:run_id/log token rights=sor_manage audited=true
readmitPeople POST /api/gdpr/readmit token rights=gdpr_data_manage audited=true
reconcileExports GET /api/data_exporters/:exporter_id/reconciliation token rights=sor_manage,usage_analytics_view
redriveSyncRun POST /api/syncs/:sync_id/runs/:run_id/redrive token rights=sor_manage audited=true
releaseGdprHold DELETE /api/gdpr/holds/:hold_id token rights=gdpr_data_manage audited=true
removeSegmentPeople DELETE /api/segments/:identifier/people token rights=segments_manage audited=true
removeUser DELETE /api/users/:user_id token audited=true role=admin
renameLabel PUT /api/labels/:name token rights=usage_analytics_manage audited=true
renameSystemOfRecord PUT /api/system_of_records/:sor_identifier token rights=sor_manage audited=true
reportCampaignLogs GET /api/apps_campaign_logs token rights=campaign_view audited=true
reportMessages GET /api/transac/:campaign_key/reports token rights=campaign_view audited=true
requestAccess POST /api/gdpr/access_user_data token rights=gdpr_data_manage audited=true
requestDeletion POST /api/gdpr/delete_user_data token rights=gdpr_data_manage audited=true
requestPasswordReset POST /api/password_resets none
requestPrivacyFromDevice POST /v1/privacy app_key audited=true idempotencyKey=ignored
rerunExport POST /api/data_exporters/:exporter_id/runs/:run_id/rerun token rights=sor_manage,usage_analytics_view audited=true
resendInvitation POST /api/invitations/:invitation_id/send token audited=true role=admin
resetPassword POST /api/password_resets/confirm none audited=true
restoreFunnel PUT /api/funnels/:identifier/restore token rights=funnels_manage audited=true
resumeSync POST /api/syncs/:sync_id/resume token rights=sor_manage audited=true
revokeServiceToken DELETE /api/service_tokens/:token_identifier token audited=true role=person
runDataExporter POST /api/data_exporters/:exporter_id/runs token rights=sor_manage,usage_analytics_view audited=true
runSync POST /api/syncs/:sync_id/run token rights=sor_manage audited=true
sendAlias POST /v1/alias app_key bare=true idempotencyKey=ignored
sendBatch POST /v1/batch app_key bare=true idempotencyKey=ignored
sendGroup POST /v1/group app_key bare=true idempotencyKey=ignored
sendIdentify POST /v1/identify app_key bare=true idempotencyKey=ignored
sendImportedBatch POST /v1/import app_key bare=true idempotencyKey=ignored
sendMessages POST /api/transac token rights=campaign_publish,transactional_campaigns audited=true
sendPage POST /v1/page app_key bare=true idempotencyKey=ignored
sendPushMessages POST /api/transac_push token rights=campaign_publish,transactional_campaigns audited=true
sendScreen POST /v1/screen app_key bare=true idempotencyKey=ignored
sendTrack POST /v1/track app_key bare=true idempotencyKey=ignored
submitForgottenPasswordPage POST /reset none contentType=text/html
submitInvitationPage POST /invite/:token none audited=true contentType=text/html
submitPasswordResetPage POST /reset/:token none audited=true contentType=text/html
switchSession PUT /api/session token audited=true role=person
testCampaign POST /api/campaign/:campaign_identifier/test token rights=campaign_draft,campaign_publish audited=true
  rightsByType=transactional:transactional_campaigns,dynamic:dynamic_campaigns
updateApiKey PUT /api/apps/:app_identifier/api_keys/:key_identifier token rights=api_keys_manage audited=true
updateApp PUT /api/apps/:app_identifier token rights=apps_manage audited=true
  rightsByField=gdpr_emails:gdpr_data_manage,
    gdpr_approval:gdpr_data_manage,
    verified_users:gdpr_data_manage,
    outcomes_connection:gdpr_data_manage
updateAppGroup PUT /api/app_groups/:group_identifier token rights=apps_manage audited=true
updateCampaign PUT /api/campaign/:campaign_identifier token rights=campaign_draft audited=true
  rightsByType=transactional:transactional_campaigns,dynamic:dynamic_campaigns
  rightsByField=variants:ab_testing
updateConnection PUT /api/connections/:connection_id token rights=sor_manage audited=true
updateCustomerAttribute PUT /api/customer_attributes/:ca_identifier token rights=sor_manage audited=true
updateDataCategory PUT /api/apps/:app_identifier/data_wallet/categories/:category_identifier token rights=gdpr_data_manage audited=true
updateDataExporter PUT /api/data_exporters/:exporter_id token rights=sor_manage,usage_analytics_view audited=true
updateEntity PUT /api/entities/:entity_id token audited=true role=superadmin
updateEventDefinition PUT /api/apps/:app_identifier/event_definitions/:event_id token rights=usage_analytics_manage audited=true
updateFunnel PUT /api/funnels/:identifier token rights=funnels_manage audited=true
updateLegalText PUT /api/apps/:app_identifier/data_wallet/legal_texts/:legal_text_identifier token rights=gdpr_data_manage audited=true
updateNotifyEmails PUT /api/system_of_records/:sor_identifier/notify_emails token rights=sor_manage audited=true
updatePurpose PUT /api/apps/:app_identifier/data_wallet/purposes/:purpose_identifier token rights=gdpr_data_manage audited=true
updatePushCertificate PUT /api/apps/:app_identifier/push_certificates/:cert_identifier token rights=push_certificates_manage audited=true
updatePushProvider PUT /api/apps/:app_identifier/push_providers/:platform token rights=push_certificates_manage audited=true
  rightsByField=settings.endpoint:gdpr_data_manage
updateRecipient PUT /api/apps/:app_identifier/data_wallet/recipients/:recipient_identifier token rights=gdpr_data_manage audited=true
updateSegment PUT /api/segments/:identifier token rights=segments_manage audited=true
updateSync PUT /api/syncs/:sync_id token rights=sor_manage audited=true
updateUser PUT /api/users/:user_id token audited=true role=admin
updateWalletLanguages PUT /api/apps/:app_identifier/data_wallet/settings token rights=gdpr_data_manage audited=true
validateSync POST /api/syncs/validate token rights=sor_manage
verifyDeviceUser POST /v1/verify app_key idempotencyKey=ignored
viewAccessRequest GET /api/gdpr_request/export token rights=gdpr_data_manage audited=true
viewApiKey GET /api/apps/:app_identifier/api_keys/:key_identifier token rights=api_keys_manage audited=true
viewApp GET /api/apps/:app_identifier token rights=apps audited=true
viewAppGroup GET /api/app_groups/:group_identifier token rights=apps
viewCampaign GET /api/campaign/:campaign_identifier token rights=campaign_view
viewCampaignResults GET /api/campaigns/:identifier/results token rights=campaign_view
viewCampaignTest GET /api/campaign_tests/:request_id token rights=campaign_view audited=true isFollowed=true
viewConnection GET /api/connections/:connection_id token rights=sor_manage
viewCrash GET /api/crashes/:crash_identifier token rights=crashes_view
viewCustomerAttribute GET /api/customer_attributes/:ca_identifier token rights=sor_manage
viewCustomerProfile GET /api/customer_profiles/:customer_id token rights=sor_manage audited=true
viewDataCategory GET /api/apps/:app_identifier/data_wallet/categories/:category_identifier token rights=gdpr_data_manage
viewDataExporter GET /api/data_exporters/:exporter_id token rights=sor_manage,usage_analytics_view audited=true
viewDataExporterPolicy GET /api/data_exporters/:exporter_id/policy token rights=sor_manage,usage_analytics_view
viewDeletionRequest GET /api/gdpr_request/delete token rights=gdpr_data_manage audited=true
viewDevice GET /api/apps/:app_identifier/devices/:device_identifier token rights=usage_analytics_view audited=true
viewDryRunSample GET /api/syncs/:sync_id/runs/:run_id/sample token rights=sor_manage audited=true
viewEntity GET /api/entities/:entity_id token audited=true role=superadmin
viewEvent GET /api/apps/:app_identifier/events/:event_identifier token rights=usage_analytics_view audited=true
viewExport GET /api/data_exporters/:exporter_id/exports/:export_identifier token rights=sor_manage,usage_analytics_view bare=true
viewExportRun GET /api/data_exporters/:exporter_id/runs/:run_id token rights=sor_manage,usage_analytics_view
viewFeedRequest GET /api/attribute_values/feeds/:request_id token rights=sor_manage
viewFunnel GET /api/funnels/:identifier token rights=funnels_view
viewFunnelStats GET /api/funnels/:identifier/stats token rights=funnels_view audited=true
  rightsByField=breakdown=detail.*:usage_analytics_view
viewGdprRequest GET /api/gdpr/requests/:request_id token rights=gdpr_data_manage audited=true
viewImport GET /api/attribute_values/imports/:import_id token rights=sor_manage
viewLegalText GET /api/apps/:app_identifier/data_wallet/legal_texts/:legal_text_identifier token rights=gdpr_data_manage
viewNotifyEmails GET /api/system_of_records/:sor_identifier/notify_emails token rights=sor_manage
viewPerson POST /api/people/view token audited=true idempotencyKey=ignored
  rightsByField=identifiers:usage_analytics_view,
    devices:usage_analytics_view,
    events:usage_analytics_view,
    sessions:usage_analytics_view,
    segments:segments_view,
    attributes:sor_manage,
    messages:campaign_view,
    requests:gdpr_data_manage,
    holds:gdpr_data_manage,
    erasure:gdpr_data_manage
viewPicture GET /api/campaigns/picture token rights=campaign_draft contentType=image/*
viewPurpose GET /api/apps/:app_identifier/data_wallet/purposes/:purpose_identifier token rights=gdpr_data_manage
viewPushCertificate GET /api/apps/:app_identifier/push_certificates/:cert_identifier token rights=push_certificates_manage audited=true
viewPushOutcomes GET /api/apps/:app_identifier/push_outcomes token rights=push_certificates_manage
viewPushProvider GET /api/apps/:app_identifier/push_providers/:platform token rights=push_certificates_manage
viewRecipient GET /api/apps/:app_identifier/data_wallet/recipients/:recipient_identifier token rights=gdpr_data_manage
viewSdkSettings GET /v1/projects/:write_key/settings app_key bare=true
viewSegment GET /api/segments/:identifier token rights=segments_view
viewSend GET /api/transac/:request_id token rights=campaign_view
viewSession GET /api/session token role=person
viewSync GET /api/syncs/:sync_id token rights=sor_manage
viewSyncRun GET /api/syncs/:sync_id/runs/:run_id token rights=sor_manage
viewSystem GET /api/system token role=superadmin
viewSystemOfRecord GET /api/system_of_records/:sor_identifier token rights=sor_manage audited=true
viewTimeline POST /api/people/timeline token audited=true idempotencyKey=ignored
  rightsByField=request:gdpr_data_manage,
    message:campaign_view,
    attribute:sor_manage,
    session:usage_analytics_view,
    event:usage_analytics_view
viewUser GET /api/users/:user_id token role=admin
viewWalletLanguages GET /api/apps/:app_identifier/data_wallet/settings token rights=gdpr_data_manage
withdrawInvitation DELETE /api/invitations/:invitation_id token audited=true role=admin
`
  .trim()
  .split(/\n(?! )/)
  .map(readOperation);

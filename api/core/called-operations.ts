import { readLine } from './called-operation.ts';

/**
 * Each operation as a client calls it. Made by `npm run docs` from the operations themselves, whose schemas cost time
 * to load.
 */
export const CALLED_OPERATIONS = `
acceptInvitation POST /api/invitations/accept none
acceptSyncSchema POST /api/syncs/:sync_id/accept_schema token
activateDataExporter PUT /api/data_exporters/:exporter_id/activate token
addSegmentPeople POST /api/segments/:identifier/people token
approveGdprRequest POST /api/gdpr/requests/:request_id/approve token
archiveFunnel PUT /api/funnels/:identifier/archive token
backfillExports POST /api/data_exporters/:exporter_id/backfills token
cancelCampaign PUT /api/campaign/:campaign_identifier/cancel token
cancelExportRun POST /api/data_exporters/:exporter_id/runs/:run_id/cancel token
cancelImport POST /api/attribute_values/imports/:import_id/cancel token
cancelSend DELETE /api/transac/:request_id token
cancelSyncRun POST /api/syncs/:sync_id/runs/:run_id/cancel token
changeOwnPassword PUT /api/users/me/password token
checkConnection POST /api/connections/:connection_id/check token
checkConnectionSettings POST /api/connections/check token
checkDataExporter POST /api/data_exporters/:exporter_id/check token
checkPush POST /api/apps/:app_identifier/push_check token
countAppEvents GET /api/apps/:app_identifier/analytics/events token
countCalls GET /api/apps/:app_identifier/ingestion token
createApiKey POST /api/apps/:app_identifier/api_keys token
createApp POST /api/apps token
createAppGroup POST /api/app_groups token
createCampaign POST /api/campaign token
createConnection POST /api/connections token
createCustomerAttribute POST /api/customer_attributes token
createDataCategory POST /api/apps/:app_identifier/data_wallet/categories token
createDataExporter POST /api/data_exporters token
createEntity POST /api/entities token
createFunnel POST /api/funnels token
createGdprHold POST /api/gdpr/holds token
createLabel POST /api/labels token
createLegalText POST /api/apps/:app_identifier/data_wallet/legal_texts token
createPurpose POST /api/apps/:app_identifier/data_wallet/purposes token
createPushCertificate POST /api/apps/:app_identifier/push_certificates token
createRecipient POST /api/apps/:app_identifier/data_wallet/recipients token
createSegment POST /api/segments token
createServiceToken POST /api/service_tokens token
createSync POST /api/syncs token
createSystemOfRecord POST /api/system_of_records token
createUserTokenKey POST /api/apps/:app_identifier/user_token_keys token
deactivateDataExporter PUT /api/data_exporters/:exporter_id/deactivate token
decideAlias PUT /api/gdpr/aliases token
declineGdprRequest POST /api/gdpr/requests/:request_id/decline token
deleteAppGroup DELETE /api/app_groups/:group_identifier token
deleteCampaign DELETE /api/campaign/:campaign_identifier token
deleteConnection DELETE /api/connections/:connection_id token
deleteCrash DELETE /api/apps/:app_identifier/crashes/:crash_identifier token
deleteCustomerAttribute DELETE /api/customer_attributes/:ca_identifier token
deleteDataCategory DELETE /api/apps/:app_identifier/data_wallet/categories/:category_identifier token
deleteDataExporter DELETE /api/data_exporters/:exporter_id token
deleteEntity DELETE /api/entities/:entity_id token
deleteEventDefinition DELETE /api/apps/:app_identifier/event_definitions/:event_id token
deleteLabel DELETE /api/labels/:name token
deleteLegalText DELETE /api/apps/:app_identifier/data_wallet/legal_texts/:legal_text_identifier token
deletePurpose DELETE /api/apps/:app_identifier/data_wallet/purposes/:purpose_identifier token
deletePushProvider DELETE /api/apps/:app_identifier/push_providers/:platform token
deleteRecipient DELETE /api/apps/:app_identifier/data_wallet/recipients/:recipient_identifier token
deleteSegment DELETE /api/segments/:identifier token
deleteSync DELETE /api/syncs/:sync_id token
deleteSystemOfRecord DELETE /api/system_of_records/:sor_identifier token
deleteUserTokenKey DELETE /api/apps/:app_identifier/user_token_keys/:key_identifier token
disableSystemOfRecord PUT /api/system_of_records/:sor_identifier/disable token
downloadArchive GET /api/gdpr/downloads/:request_id/:ordinal/:signature none contentType=application/zip
downloadFile GET /api/files/:file_identifier none contentType=application/octet-stream
downloadImportErrors GET /api/attribute_values/imports/:import_id/errors.csv token contentType=text/csv
downloadImportTemplate GET /api/attribute_values/template sor_key contentType=text/csv
downloadSorTemplate GET /api/system_of_records/:sor_identifier/template token contentType=text/csv
downloadSyncErrors GET /api/syncs/:sync_id/runs/:run_id/errors.csv token contentType=text/csv
dryRunSync POST /api/syncs/:sync_id/dry_run token
duplicateCampaign POST /api/campaign/:campaign_identifier/duplicate token
enableSystemOfRecord PUT /api/system_of_records/:sor_identifier/enable token
endSession DELETE /api/session token
explainMessages GET /api/campaigns/:identifier/why token
exploreFunnel POST /api/funnels/explore token idempotencyKey=ignored
exportAuditLog GET /api/audit_log.csv token contentType=text/csv
exportCampaigns GET /api/campaigns/list_export token
exportCampaignsAs GET /api/campaigns/list_export.:format token
exportCustomerProfiles GET /api/customer_profiles/export token
exportCustomerProfilesAs GET /api/customer_profiles/export.:format token
exportDevices GET /api/apps/:app_identifier/devices_export token
exportDevicesAs GET /api/apps/:app_identifier/devices_export.:format token
exportEvents GET /api/apps/:app_identifier/events_export token
exportEventsAs GET /api/apps/:app_identifier/events_export.:format token
exportLocations GET /api/apps/:app_identifier/locations_export token
exportLocationsAs GET /api/apps/:app_identifier/locations_export.:format token
exportSegmentDevices GET /api/segments/:segment_identifier/devices_export token
exportSegmentDevicesAs GET /api/segments/:segment_identifier/devices_export.:format token
exportSessions GET /api/apps/:app_identifier/sessions_export token
exportSessionsAs GET /api/apps/:app_identifier/sessions_export.:format token
feedAttributeValues POST /api/attribute_values sor_key
findExportRun GET /api/export_runs/:run_id token
findSyncRun GET /api/sync_runs/:run_id token
importAttributeValues POST /api/attribute_values/batch_import sor_key uploadPart=file
importWithToken POST /api/attribute_values/imports token uploadPart=file
inviteUser POST /api/users token
launchCampaign PUT /api/campaign/:campaign_identifier/launch token
listAliases GET /api/gdpr/aliases token
listApiKeys GET /api/apps/:app_identifier/api_keys token
listAppGroups GET /api/app_groups token
listApps GET /api/apps token
listAttention GET /api/attention token
listAuditEntries GET /api/audit_log token
listCampaigns GET /api/campaigns token bare=true
listConnections GET /api/connections token
listConnectors GET /api/connectors token
listCrashOccurrences GET /api/crashes/:crash_identifier/occurrences token bare=true
listCrashes GET /api/apps/:app_identifier/crashes token
listCustomerProfiles GET /api/customer_profiles token
listDataCategories GET /api/apps/:app_identifier/data_wallet/categories token
listDataExporters GET /api/data_exporters token
listDeletionLists GET /api/data_exporters/:exporter_id/deletion_lists token
listDeviceEvents GET /api/apps/:app_identifier/devices/:device_identifier/events token
listDevices GET /api/apps/:app_identifier/devices token
listEntities GET /api/entities token
listEventDefinitions GET /api/apps/:app_identifier/event_definitions token
listEvents GET /api/apps/:app_identifier/events token
listExportRuns GET /api/data_exporters/:exporter_id/runs token
listFeedRequests GET /api/attribute_values/feeds token
listFunnels GET /api/funnels token
listGdprHolds GET /api/gdpr/holds token
listGdprIdentifiers GET /api/gdpr/requests/:request_id/identifiers token
listGdprReceipts GET /api/gdpr/requests/:request_id/receipt token
listGdprRequests GET /api/gdpr/requests token
listImportErrors GET /api/attribute_values/import_errors token
listImportSummaries GET /api/attribute_values/imports token
listImports GET /api/attribute_values/import_jobs token
listInappMessages GET /v1/inapp app_key
listInvitations GET /api/invitations token
listLabels GET /api/labels token
listLatestGdprRequests GET /api/gdpr/latest_requests token
listLegalTexts GET /api/apps/:app_identifier/data_wallet/legal_texts token
listLiveCalls GET /api/apps/:app_identifier/live token
listLocations GET /api/apps/:app_identifier/locations token
listPrivacyRequests GET /api/apps/:app_identifier/privacy_requests token
listPurposes GET /api/apps/:app_identifier/data_wallet/purposes token
listPushCertificates GET /api/apps/:app_identifier/push_certificates token
listReceiptsOfPerson GET /api/gdpr/receipts token
listRecipients GET /api/apps/:app_identifier/data_wallet/recipients token
listRefusedCalls GET /api/apps/:app_identifier/refused_calls token
listSegmentDevices GET /api/segments/:segment_identifier/devices token
listSegments GET /api/segments token
listServiceTokens GET /api/service_tokens token
listSessions GET /api/apps/:app_identifier/sessions token
listSigningKeys GET /.well-known/jwks.json none bare=true
listStreams GET /api/connections/:connection_id/streams token
listSyncErrors GET /api/syncs/:sync_id/runs/:run_id/errors token
listSyncRuns GET /api/syncs/:sync_id/runs token
listSyncs GET /api/syncs token
listSystemsOfRecords GET /api/system_of_records token
listUserEvents GET /api/users/:user_id/events token
listUserTokenKeys GET /api/apps/:app_identifier/user_token_keys token
listUsers GET /api/users token
login POST /api/login none
logout POST /api/logout token idempotencyKey=ignored
mailPasswordReset POST /api/users/:user_id/password_reset token
openForgottenPasswordPage GET /reset none contentType=text/html
openInvitationPage GET /invite/:token none contentType=text/html
openPasswordResetPage GET /reset/:token none contentType=text/html
openSession POST /api/session none
patchDataCategory PATCH /api/apps/:app_identifier/data_wallet/categories/:category_identifier token
patchLegalText PATCH /api/apps/:app_identifier/data_wallet/legal_texts/:legal_text_identifier token
patchPurpose PATCH /api/apps/:app_identifier/data_wallet/purposes/:purpose_identifier token
patchRecipient PATCH /api/apps/:app_identifier/data_wallet/recipients/:recipient_identifier token
patchWalletLanguages PATCH /api/apps/:app_identifier/data_wallet/settings token
pauseSync POST /api/syncs/:sync_id/pause token
planCampaign GET /api/campaigns/:identifier/plan token
previewSegment POST /api/segments/preview token idempotencyKey=ignored
previewUserIdentifiers GET /api/gdpr/identifiers token
quickFunnelStats POST /api/funnels/quick_stats token idempotencyKey=ignored
readAttributeValues GET /api/attribute_values token
readCustomerAttributeValues GET /api/customer_attribute_values token
readSyncLog GET /api/syncs/:sync_id/runs/:run_id/log token
readmitPeople POST /api/gdpr/readmit token
reconcileExports GET /api/data_exporters/:exporter_id/reconciliation token
redriveSyncRun POST /api/syncs/:sync_id/runs/:run_id/redrive token
releaseGdprHold DELETE /api/gdpr/holds/:hold_id token
removeSegmentPeople DELETE /api/segments/:identifier/people token
removeUser DELETE /api/users/:user_id token
renameLabel PUT /api/labels/:name token
renameSystemOfRecord PUT /api/system_of_records/:sor_identifier token
reportCampaignLogs GET /api/apps_campaign_logs token
reportMessages GET /api/transac/:campaign_key/reports token
requestAccess POST /api/gdpr/access_user_data token
requestDeletion POST /api/gdpr/delete_user_data token
requestPasswordReset POST /api/password_resets none
requestPrivacyFromDevice POST /v1/privacy app_key idempotencyKey=ignored
rerunExport POST /api/data_exporters/:exporter_id/runs/:run_id/rerun token
resendInvitation POST /api/invitations/:invitation_id/send token
resetPassword POST /api/password_resets/confirm none
restoreFunnel PUT /api/funnels/:identifier/restore token
resumeSync POST /api/syncs/:sync_id/resume token
revokeServiceToken DELETE /api/service_tokens/:token_identifier token
runDataExporter POST /api/data_exporters/:exporter_id/runs token
runSync POST /api/syncs/:sync_id/run token
sendAlias POST /v1/alias app_key bare=true idempotencyKey=ignored
sendBatch POST /v1/batch app_key bare=true idempotencyKey=ignored
sendGroup POST /v1/group app_key bare=true idempotencyKey=ignored
sendIdentify POST /v1/identify app_key bare=true idempotencyKey=ignored
sendImportedBatch POST /v1/import app_key bare=true idempotencyKey=ignored
sendMessages POST /api/transac token
sendPage POST /v1/page app_key bare=true idempotencyKey=ignored
sendPushMessages POST /api/transac_push token
sendScreen POST /v1/screen app_key bare=true idempotencyKey=ignored
sendTrack POST /v1/track app_key bare=true idempotencyKey=ignored
submitForgottenPasswordPage POST /reset none contentType=text/html
submitInvitationPage POST /invite/:token none contentType=text/html
submitPasswordResetPage POST /reset/:token none contentType=text/html
switchSession PUT /api/session token
testCampaign POST /api/campaign/:campaign_identifier/test token
updateApiKey PUT /api/apps/:app_identifier/api_keys/:key_identifier token
updateApp PUT /api/apps/:app_identifier token
updateAppGroup PUT /api/app_groups/:group_identifier token
updateCampaign PUT /api/campaign/:campaign_identifier token
updateConnection PUT /api/connections/:connection_id token
updateCustomerAttribute PUT /api/customer_attributes/:ca_identifier token
updateDataCategory PUT /api/apps/:app_identifier/data_wallet/categories/:category_identifier token
updateDataExporter PUT /api/data_exporters/:exporter_id token
updateEntity PUT /api/entities/:entity_id token
updateEventDefinition PUT /api/apps/:app_identifier/event_definitions/:event_id token
updateFunnel PUT /api/funnels/:identifier token
updateLegalText PUT /api/apps/:app_identifier/data_wallet/legal_texts/:legal_text_identifier token
updateNotifyEmails PUT /api/system_of_records/:sor_identifier/notify_emails token
updatePurpose PUT /api/apps/:app_identifier/data_wallet/purposes/:purpose_identifier token
updatePushCertificate PUT /api/apps/:app_identifier/push_certificates/:cert_identifier token
updatePushProvider PUT /api/apps/:app_identifier/push_providers/:platform token
updateRecipient PUT /api/apps/:app_identifier/data_wallet/recipients/:recipient_identifier token
updateSegment PUT /api/segments/:identifier token
updateSync PUT /api/syncs/:sync_id token
updateUser PUT /api/users/:user_id token
updateWalletLanguages PUT /api/apps/:app_identifier/data_wallet/settings token
validateSync POST /api/syncs/validate token
verifyDeviceUser POST /v1/verify app_key idempotencyKey=ignored
viewAccessRequest GET /api/gdpr_request/export token
viewApiKey GET /api/apps/:app_identifier/api_keys/:key_identifier token
viewApp GET /api/apps/:app_identifier token
viewAppGroup GET /api/app_groups/:group_identifier token
viewCampaign GET /api/campaign/:campaign_identifier token
viewCampaignTest GET /api/campaign_tests/:request_id token
viewConnection GET /api/connections/:connection_id token
viewCustomerAttribute GET /api/customer_attributes/:ca_identifier token
viewCustomerProfile GET /api/customer_profiles/:customer_id token
viewDataCategory GET /api/apps/:app_identifier/data_wallet/categories/:category_identifier token
viewDataExporter GET /api/data_exporters/:exporter_id token
viewDataExporterPolicy GET /api/data_exporters/:exporter_id/policy token
viewDeletionRequest GET /api/gdpr_request/delete token
viewDevice GET /api/apps/:app_identifier/devices/:device_identifier token
viewDryRunSample GET /api/syncs/:sync_id/runs/:run_id/sample token
viewEntity GET /api/entities/:entity_id token
viewExport GET /api/data_exporters/:exporter_id/exports/:export_identifier token bare=true
viewExportRun GET /api/data_exporters/:exporter_id/runs/:run_id token
viewFeedRequest GET /api/attribute_values/feeds/:request_id token
viewFunnel GET /api/funnels/:identifier token
viewFunnelStats GET /api/funnels/:identifier/stats token
viewGdprRequest GET /api/gdpr/requests/:request_id token
viewImport GET /api/attribute_values/imports/:import_id token
viewLegalText GET /api/apps/:app_identifier/data_wallet/legal_texts/:legal_text_identifier token
viewNotifyEmails GET /api/system_of_records/:sor_identifier/notify_emails token
viewPurpose GET /api/apps/:app_identifier/data_wallet/purposes/:purpose_identifier token
viewPushCertificate GET /api/apps/:app_identifier/push_certificates/:cert_identifier token
viewPushProvider GET /api/apps/:app_identifier/push_providers/:platform token
viewRecipient GET /api/apps/:app_identifier/data_wallet/recipients/:recipient_identifier token
viewSdkSettings GET /v1/projects/:write_key/settings app_key bare=true
viewSegment GET /api/segments/:identifier token
viewSend GET /api/transac/:request_id token
viewSession GET /api/session token
viewSync GET /api/syncs/:sync_id token
viewSyncRun GET /api/syncs/:sync_id/runs/:run_id token
viewSystemOfRecord GET /api/system_of_records/:sor_identifier token
viewUser GET /api/users/:user_id token
viewWalletLanguages GET /api/apps/:app_identifier/data_wallet/settings token
withdrawInvitation DELETE /api/invitations/:invitation_id token
`
  .trim()
  .split('\n')
  .map(readLine);

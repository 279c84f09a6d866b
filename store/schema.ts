/** Columns of each table, written from the migrated database by `npm run schema`. What they mean: store/migrations/. */
export type Tables = {
  app_api_keys: {
    entityId: number; id: number; appId: number; identifier: string; lookup: Buffer; apiKey: string; revoked: boolean;
    createdAt: Date; updatedAt: Date;
  };
  app_group_members: { entityId: number; groupId: number; appId: number; };
  app_groups: { entityId: number; id: number; identifier: string; name: string; createdAt: Date; };
  app_token_keys: { entityId: number; id: number; appId: number; identifier: string; secret: string; createdAt: Date; };
  apps: {
    entityId: number; id: number; identifier: string; name: string; packageName: string;
    appType: 'iOS App' | 'Android App' | 'Web App'; storeId: string | null; sku: string | null; qa: boolean;
    parentId: number | null; domains: string[]; defaultTz: string; storeFetched: boolean; localizations: unknown;
    icon: unknown; cvIcon: unknown; primaryCategory: string | null; secondaryCategory: string | null; statuses: unknown;
    fcmKey: string | null; crmSyncable: boolean; inboxDaysToLive: number | null; messageLimit: number | null;
    messagePeriod: number | null; sendRate: number | null; quietHours: unknown; verifiedUsers: boolean;
    outcomesConnection: string | null; gdprEmails: string[]; gdprApproval: boolean; sessionTimeout: number;
    createdAt: Date; updatedAt: Date; revision: number;
  };
  attempts: {
    entityId: number; campaignId: number; id: number; createdAt: Date; settledAt: Date | null; dueAt: Date | null;
    expiresAt: Date | null; deliveredAt: Date | null; openedAt: Date | null; inappUntil: Date | null;
    shownAt: Date | null; clickedAt: Date | null; changedAt: Date; appId: number; sendId: number | null;
    messageOrdinal: number | null; tries: number; isPaced: boolean; channel: 'push' | 'inapp' | 'both';
    state: 'waiting' | 'sending' | 'settled'; code: string; provider: string | null; providerMessageId: string | null;
    variant: string | null; deviceId: string | null; userId: string | null; userHash: Buffer | null;
    details: string | null; content: unknown;
  };
  attribute_change_log: {
    entityId: number; receivedAt: Date; id: number; sorId: number; customerType: number; customerIds: string[];
    committedAt: Date; pending: boolean;
  };
  attribute_values: {
    entityId: number; sorId: number; customerType: 0 | 1; attributeId: number; changedAt: Date; removedAt: Date | null;
    datetimeValue: Date | null; dateValue: string | null; booleanValue: boolean | null; customerId: string;
    stringValue: string | null; numberValue: string | null; setElements: string[] | null; setTimes: Date[] | null;
    saidAt: Date | null;
  };
  audit_log: {
    entityId: number; id: number; happenedAt: Date; actorKind: 'user' | 'service_token' | 'sor_key' | 'system';
    actorId: number | null; address: string | null; action: string; subjectKind: string; subject: string | null;
    customerHash: Buffer | null; details: unknown;
  };
  campaign_audience: { entityId: number; sendId: number; dueAt: Date; person: string; deviceId: string; };
  campaign_days: {
    entityId: number; campaignId: number; day: string; variant: string; channel: string; code: string; attempts: number;
    delivered: number; opened: number; shown: number; clicked: number; details: string; inapp: number;
  };
  campaign_members: {
    entityId: number; sendId: number; person: string; isMember: boolean; notified: number; lastNotifiedAt: Date | null;
    lastWindow: Date | null;
  };
  campaign_people: {
    entityId: number; campaignId: number; person: string; sent: number; opened: number; shown: number; clicked: number;
    lastSentAt: Date | null;
  };
  campaigns: {
    entityId: number; id: number; identifier: string; apiIdentifier: string | null; appId: number; name: string;
    type: 'classic' | 'transactional' | 'dynamic';
    status: 'draft' | 'scheduled' | 'wait_sync' | 'ongoing' | 'finished' | 'failed' | 'canceled'; includesPush: boolean;
    includesInapp: boolean; startDate: Date | null; endDate: Date | null; adaptTz: boolean; skipMessageLimit: boolean;
    isSensitive: boolean; filters: unknown; params: unknown; recurrence: unknown; notifLimit: unknown;
    variants: unknown; testOf: string | null; reachAt: Date | null; reachCount: number; reachOptin: number;
    reachTotal: number; createdBy: number | null; createdAt: Date; updatedAt: Date; launchedAt: Date | null;
    endedAt: Date | null; failure: string | null; revision: number; launchedBy: number | null;
    expectedPeople: number | null; hasProfileValues: boolean;
  };
  connections: {
    entityId: number; id: number; identifier: string; name: string; connector: string; settings: unknown;
    secretNames: string[]; sealedSecrets: string | null; revision: number; createdBy: number | null; createdAt: Date;
    updatedAt: Date; deletedAt: Date | null;
  };
  control_group_days: {
    entityId: number; campaignId: number; day: string; attempts: number; people: number; devices: number;
    openedApp: number; targetedPeople: number; targetedOpenedApp: number; dueAt: Date | null;
  };
  crashes: {
    entityId: number; appId: number; id: number; identifier: string; fingerprint: Buffer; title: string;
    firstSeenAt: Date; lastSeenAt: Date; occurrences: number;
  };
  customer_attributes: {
    entityId: number; id: number; sorId: number; identifier: string; key: string; label: string;
    valueType: 'String' | 'Number' | 'Boolean' | 'Date' | 'Datetime' | 'Set'; isGuessed: boolean;
    widenedFrom: string | null; isIdentifier: boolean; isSensitive: boolean; disabled: boolean; createdAt: Date;
    deletedAt: Date | null;
  };
  customers: { entityId: number; customerType: 0 | 1; customerId: string; };
  data_exporters: {
    entityId: number; id: number; identifier: string; name: string; type: 'aws_secret_key' | 'aws_account_id';
    bucketName: string; subfolder: string; awsRegion: string; endpoint: string | null; awsAccountId: string | null;
    awsRoleName: string | null; awsAccessKeyId: string | null; awsSecretAccessKey: string | null;
    serverSideEncryption: 'AES256' | 'aws:kms' | null; kmsKeyId: string | null; contentMd5: boolean; appIds: number[];
    sorIds: number[]; exportedData: string[]; format: 'csv' | 'jsonl' | 'parquet'; includeHeaders: boolean;
    encryptionType: string | null; encryptionKey: string | null; deletionKey: string | null; partBytes: number;
    exportsSince: Date | null; notifyEmails: string[]; notifyConnections: string[]; active: boolean; failures: number;
    pausedAt: Date | null; pausedReason: string | null; exportedUntil: Date | null; revision: number;
    scheduledUntil: Date | null; initialRunAt: Date | null; lastRunAt: Date | null; createdBy: number | null;
    createdAt: Date; updatedAt: Date; deletedAt: Date | null;
  };
  deleted_entities: { entityId: number; deletedAt: Date; };
  device_users: { entityId: number; appId: number; deviceId: string; userId: string; lastSeenAt: Date; };
  devices: {
    entityId: number; appId: number; deviceId: string; currentUserId: string | null; lastUserId: string | null;
    verifiedUserId: string | null; verifiedAt: Date | null; pushToken: string | null; optIn: boolean | null;
    optOut: boolean | null; uninstalled: boolean | null; numberOfSessions: number; numberOfCrashes: number;
    appVersion: string | null; osVersion: string | null; sdkVersion: string | null; deviceModel: string | null;
    deviceType: string | null; country: string | null; lang: string | null; lastCity: string | null;
    lastLatitude: number | null; lastLongitude: number | null; utcOffset: number | null; timezone: string | null;
    firstSeenAt: Date; lastSeenAt: Date; receivedAt: Date; firstCampaignReceivedAt: Date | null;
    lastCampaignReceivedAt: Date | null; currentUserIdSaidAt: Date | null; lastUserIdSaidAt: Date | null;
    pushTokenSaidAt: Date | null; optInSaidAt: Date | null; optOutSaidAt: Date | null; appVersionSaidAt: Date | null;
    osVersionSaidAt: Date | null; sdkVersionSaidAt: Date | null; deviceModelSaidAt: Date | null;
    deviceTypeSaidAt: Date | null; countrySaidAt: Date | null; langSaidAt: Date | null; lastCitySaidAt: Date | null;
    lastLatitudeSaidAt: Date | null; lastLongitudeSaidAt: Date | null; utcOffsetSaidAt: Date | null;
    timezoneSaidAt: Date | null;
  };
  dry_run_ids: { entityId: number; importId: number; customerId: string; customerType: number; line: number; };
  dry_run_sets: {
    entityId: number; importId: number; customerId: string; customerType: number; attributeId: number;
    setElements: string[]; setTimes: Date[];
  };
  entities: {
    id: number; identifier: string; name: string; description: string; active: boolean; defaultTz: string;
    dataRetentionInMonths: number; qaApiKey: string; prodApiKey: string; externalId: string;
    controlGroupPercent: number; eventsKeptSince: Date | null; createdAt: Date;
  };
  event_definitions: {
    entityId: number; appId: number; id: number; logType: 1 | 2 | 3; name: string; displayName: string | null;
    goal: boolean; firstSeenAt: Date; daysSeen: number; lastSeenOn: string;
  };
  event_messages: { entityId: number; appId: number; messageHash: Buffer; receivedAt: Date; };
  events: {
    entityId: number; appId: number; happenedAt: Date; receivedAt: Date; id: number; sessionId: number | null;
    crashId: number | null; logType: number; utcOffset: number | null; deviceId: string | null; userId: string | null;
    name: string; detail: unknown;
  };
  export_deletions: {
    entityId: number; id: number; identifier: string; exporterId: number; requestIdentifier: string; round: number;
    part: number; erasedAt: Date; people: number; hmacs: unknown; state: 'pending' | 'notified' | 'not_notified';
    key: string | null; sha256: Buffer | null; tries: number; waitsUntil: Date | null; fault: string | null;
    notifiedAt: Date | null; createdAt: Date;
  };
  export_files: {
    entityId: number; runId: number; dataType: string; part: number; key: string; rows: number; bytes: number;
    sha256: Buffer; contentBytes: number; contentSha256: Buffer; bucketChecksum: string | null; writtenAt: Date;
    removedAt: Date | null;
  };
  export_records: {
    entityId: number; runId: number; dataType: string; identifier: string; ordinal: number; expected: number | null;
    rows: number; files: number; place: unknown; isDone: boolean; snapshot: string | null; lateRows: number | null;
    lateCheckedAt: Date | null; ambiguousSets: number | null;
  };
  export_runs: {
    entityId: number; id: number; identifier: string; exporterId: number;
    cause: 'schedule' | 'request' | 'rerun' | 'backfill'; requestedBy: number | null; scheduledFor: Date | null;
    covers: Date[]; rerunOf: number | null; windowStart: Date | null; windowEnd: Date; days: string | null;
    definition: unknown; state: 'accepted' | 'running' | 'finished' | 'failed' | 'canceled'; stage: string | null;
    isCovered: boolean; generation: number; workflowRunId: string | null; receivedAt: Date; startedAt: Date | null;
    endedAt: Date | null; attempt: number; tries: number; fault: string | null; failingSince: Date | null;
    waitsUntil: Date | null; failureStatus: string | null; failure: string | null; manifestKey: string | null;
    manifestSha256: Buffer | null; publishedAt: Date | null; lateRowsFound: number; isCleaned: boolean;
    mailState: 'sending' | 'sent' | 'filed' | 'not_sent' | 'unknown' | null; mailTries: number;
    mailReason: string | null; mailDueAt: Date | null; alert: string | null;
  };
  feed_requests: {
    entityId: number; id: number; identifier: string; sorId: number; version: 2 | 3; receivedAt: Date;
    body: string | null; bodyBytes: number; appId: number | null; saidAt: unknown; valuesIn: number;
    valuesOk: number | null; valuesIgnored: number | null; valuesFailed: number | null; suspiciousIds: number | null;
    doneAt: Date | null;
  };
  feed_waits: { entityId: number; since: Date; };
  file_deletions: { entityId: number; fileKey: string; notedAt: Date; };
  file_jobs: {
    entityId: number; id: number; identifier: string; kind: string; format: 'csv' | 'xls' | 'xlsx'; query: unknown;
    askedHash: Buffer; email: string | null; createdBy: number | null;
    state: 'accepted' | 'running' | 'finished' | 'failed'; stage: string | null; generation: number;
    workflowRunId: string | null; receivedAt: Date; startedAt: Date | null; endedAt: Date | null;
    firstEndedAt: Date | null; failureStatus: string | null; failure: string | null; rowsWritten: number;
    fileKey: string | null; fileBytes: number | null; begunAt: Date | null; follows: number | null;
    countedIn: string | null; mailState: 'sending' | 'sent' | 'filed' | 'not_sent' | 'unknown' | null;
    mailTries: number; mailReason: string | null;
  };
  file_store: { id: string; seenAt: Date; };
  funnels: {
    entityId: number; id: number; identifier: string; name: string; description: string | null; maxDuration: number;
    steps: unknown; appIds: number[]; createdBy: number | null; createdAt: Date; updatedAt: Date;
    archivedAt: Date | null;
  };
  gdpr_holds: {
    entityId: number; id: number; identifier: string; customerType: 'user_id' | 'device_id'; customerId: string;
    kind: 'hold' | 'restriction'; reason: string; createdBy: number | null; createdAt: Date;
  };
  gdpr_identifiers: {
    entityId: number; requestId: number; kind: 'user_id' | 'device_id' | 'push_token' | 'whole_device'; value: string;
    ordinal: number; origin: 'asked' | 'alias' | 'confirmed' | 'device'; via: string | null; raised: boolean;
  };
  gdpr_left_identifiers: {
    entityId: number; requestId: number; ordinal: number; kind: 'user_id' | 'device_id'; value: string;
    via: string | null; reason: 'unconfirmed' | 'shared' | 'too_many';
  };
  gdpr_mails: {
    entityId: number; id: number; requestId: number; kind: 'waiting' | 'held' | 'treated' | 'near_deadline';
    identifier: string; digestId: number | null;
    mailState: 'sending' | 'sent' | 'filed' | 'not_sent' | 'unknown' | null; mailTries: number;
    mailReason: string | null; triedAt: Date | null; sentAt: Date | null;
  };
  gdpr_receipts: {
    entityId: number; id: number; identifier: string; requestIdentifier: string; requestType: 'access' | 'delete';
    round: number; issuedAt: Date; subjects: Buffer[]; document: string;
  };
  gdpr_request_people: {
    entityId: number; requestId: number; ordinal: number; userId: string | null; deviceId: string | null;
    subject: Buffer | null; state: 'pending' | 'held' | 'building' | 'treated'; treatedAt: Date | null;
    round: number | null; archiveKey: string | null; archiveBytes: number | null; archiveSha256: Buffer | null;
    archiveOthers: Buffer[] | null; shown: unknown; message: string | null;
  };
  gdpr_requests: {
    entityId: number; id: number; identifier: string; requestType: 'access' | 'delete';
    source: 'api' | 'sdk' | 'restore'; appId: number | null;
    requesterKind: 'user' | 'service_token' | 'device' | 'system'; requesterId: number | null; isUnvouched: boolean;
    skipEmail: boolean; emails: string[]; decidedBy: number | null; decidedAt: Date | null;
    state: 'waiting' | 'accepted' | 'running' | 'treated' | 'declined'; stage: string | null; generation: number;
    workflowRunId: string | null; receivedAt: Date; startedAt: Date | null; treatedAt: Date | null;
    expiresAt: Date | null; updatedAt: Date; round: number; erasingSince: Date | null; filesBefore: Date | null;
    erased: unknown; survivors: unknown; lookedAt: Date | null; keptValues: unknown; syncCopies: unknown;
    fault: string | null; faultSince: Date | null; locationFaults: unknown; givenUpAt: Date | null;
  };
  idempotent_requests: {
    entityId: number; keyHash: Buffer; fingerprint: Buffer; holder: string; receivedAt: Date; leasedUntil: Date;
    httpStatus: number | null; reply: string | null; identifier: string | null;
  };
  import_errors: {
    entityId: number; importId: number; line: number; columnNumber: number; errorType: string;
    outcome: 'ignored' | 'failed'; happenedAt: Date; stage: string; message: string; customerId: string | null;
    attributeKey: string | null; raw: string | null; customerHash: Buffer | null; isErased: boolean;
    originalLine: number | null; originalColumn: number; redrivenBy: number | null;
  };
  import_lanes: {
    entityId: number; importId: number; lane: number; generation: number; nextOffset: number; nextLine: number;
    rowsIn: number; rowsOk: number; rowsIgnored: number; rowsFailed: number; errorsByType: unknown;
    suspiciousIds: number; cellsEmpty: number; cellsUnnamed: number;
  };
  imports: {
    entityId: number; id: number; identifier: string; jid: string; sorId: number; version: 2 | 3; skipEmail: boolean;
    dryRun: boolean; parentId: number | null; rootId: number | null; saidAt: Date | null;
    state: 'accepted' | 'running' | 'finished' | 'failed' | 'canceled'; stage: string | null; generation: number;
    workflowRunId: string | null; receivedAt: Date; startedAt: Date | null; endedAt: Date | null;
    shownUrl: string | null; fileUrl: string | null; requestHeaders: string | null; fetchedBytes: number | null;
    fetchTries: number; fetchFault: string | null; fetchFailingSince: Date | null; fileKey: string | null;
    fileBytes: number | null; fileSha256: Buffer | null; fileErasedAt: Date | null; sourceBytes: number | null;
    sourceSha256: Buffer | null; sourceGzip: boolean | null; sourceDefect: string | null; fileSettings: unknown;
    fileFormat: unknown; columns: 3 | 4 | null; hasErrorColumns: boolean; columnMapping: unknown; tableLayout: unknown;
    similarIds: number | null; similarIdLines: unknown;
    mailState: 'sending' | 'sent' | 'filed' | 'not_sent' | 'unknown' | null; mailTries: number;
    mailReason: string | null;
  };
  ingested_batches: {
    entityId: number; id: number; receivedAt: Date; appId: number | null; accepted: number; duplicates: number;
    refused: number;
  };
  internal_errors: {
    entityId: number | null; kind: string; job: string; step: string; id: string; since: Date; lastAt: Date;
    times: number; givenUp: boolean;
  };
  invitations: {
    entityId: number; id: number; identifier: string; email: string; firstName: string; lastName: string;
    rights: string[]; admin: boolean; superadmin: boolean; invitedBy: number; createdAt: Date; tokenHash: Buffer | null;
    expiresAt: Date; mailState: 'sending' | 'sent' | 'filed' | 'not_sent' | 'unknown' | null; mailTries: number;
    mailReason: string | null; triedAt: Date | null; sentAt: Date | null;
  };
  key_lookups: { lookup: Buffer; kind: 'sor' | 'app'; entityId: number; ownerId: number; };
  label_targets: {
    entityId: number; labelId: number; targetKind: 'event_definition' | 'funnel' | 'segment'; targetId: number;
  };
  labels: { entityId: number; id: number; name: string; createdAt: Date; };
  live_calls: {
    entityId: number; id: number; appId: number | null; receivedAt: Date;
    outcome: 'accepted' | 'duplicate' | 'refused' | 'failed' | 'widened'; code: string | null; message: string | null;
    messageId: string | null; call: string | null; subjects: string[] | null;
  };
  locations: {
    entityId: number; appId: number; happenedAt: Date; receivedAt: Date; id: number; sessionId: number | null;
    latitude: number; longitude: number; deviceId: string | null; userId: string | null;
  };
  login_attempts: { subject: Buffer; windowStart: Date; failures: number; windowSeconds: number; };
  memberships: { userId: number; entityId: number; rights: string[]; admin: boolean; };
  notify_mails: { entityId: number; day: string; recipients: number; };
  operator_notices: { name: string; sentAt: Date; };
  outcome_deliveries: {
    entityId: number; appId: number; deliveredAt: Date; deliveredId: number; sendingAt: Date | null;
    sendingId: number | null; tries: number; failingSince: Date | null; waitsUntil: Date | null; failure: string | null;
  };
  password_resets: {
    id: number; identifier: string; email: string; userId: number | null; address: string | null; createdAt: Date;
    tokenHash: Buffer | null; expiresAt: Date; mailState: 'sending' | 'sent' | 'filed' | 'not_sent' | 'unknown' | null;
    mailTries: number; mailReason: string | null; triedAt: Date | null; sentAt: Date | null;
  };
  provider_refusals: { entityId: number; appId: number; provider: string; code: string; since: Date; };
  push_certificates: {
    entityId: number; id: number; appId: number; identifier: string; fingerprint: Buffer; x509Pem: string;
    pkeyPem: string; subject: string; uid: string | null; notBefore: Date; notAfter: Date; revoked: boolean;
    createdAt: Date; updatedAt: Date;
  };
  push_outcome_days: {
    entityId: number; campaignId: number; day: string; appId: number; provider: string;
    outcome: 'sent' | 'gone' | 'too_big' | 'refused' | 'unknown' | 'expired'; providerCode: string; attempts: number;
  };
  push_providers: {
    entityId: number; appId: number; platform: 'ios' | 'android' | 'web'; provider: string; settings: unknown;
    secretNames: string[]; sealedSecrets: string | null; vapidPublicKey: string | null; vapidPrivateKey: string | null;
    createdAt: Date; updatedAt: Date;
  };
  refused_calls: {
    entityId: number; id: number; receivedAt: Date; appId: number | null; index: number; messageId: string | null;
    messageHash: Buffer | null; code: string; message: string; raw: string | null; subjects: string[] | null;
    customerHash: Buffer | null;
  };
  report_rollups: { entityId: number; countedUntil: Date; keptSince: string; };
  run_alerts: {
    entityId: number; id: number; syncRunId: number | null; exportRunId: number | null; connectionId: number;
    mailState: string | null; mailTries: number; mailReason: string | null; mailDueAt: Date | null;
  };
  segment_changes: {
    entityId: number; segmentId: number; id: number; changedAt: Date; person: string; hasJoined: boolean;
  };
  segment_days: {
    entityId: number; segmentId: number; day: string; people: number | null; peopleJoined: number; peopleLeft: number;
    changesListed: number;
  };
  segment_members: { entityId: number; segmentId: number; person: string; };
  segment_uses: { entityId: number; segmentId: number; usedSegmentId: number; };
  segments: {
    entityId: number; id: number; identifier: string; appId: number; name: string; description: string | null;
    filters: unknown; createdBy: number | null; createdAt: Date; updatedAt: Date; lastUsedAt: Date | null;
    refreshWantedAt: Date; refreshBegunAt: Date | null; generation: number; snapshotAt: Date | null;
    failure: string | null; peopleCount: number; peopleTotal: number; peoplePush: number; reachCount: number;
    reachOptin: number; reachToken: number; reachTotal: number; revision: number;
  };
  send_campaigns: { entityId: number; sendId: number; ordinal: number; campaignId: number; };
  send_messages: {
    entityId: number; sendId: number; ordinal: number; userId: string | null; userHash: Buffer | null; vars: unknown;
  };
  send_paces: { entityId: number; appId: number; nextAt: Date; };
  sends: {
    entityId: number; id: number; identifier: string; campaignId: number | null;
    state: 'accepted' | 'running' | 'finished' | 'failed' | 'canceled'; generation: number;
    workflowRunId: string | null; receivedAt: Date; startedAt: Date | null; endedAt: Date | null; sendAt: Date | null;
    requestKey: Buffer | null; bodyHash: Buffer | null; messageCount: number; cancelRequestedAt: Date | null;
    audienceAt: Date | null; audienceRound: number; lookedAt: Date | null; looks: number; nextLookAt: Date | null;
    createdBy: number | null;
  };
  server_keys: {
    name: string; id: number; wrapped: string; wrappedBy: string | null; rewrappedFrom: string | null; createdAt: Date;
  };
  service_tokens: {
    entityId: number; id: number; identifier: string; name: string; tokenHash: Buffer; rights: string[];
    createdBy: number | null; createdAt: Date; usedAt: Date | null; expiresAt: Date; revokedAt: Date | null;
  };
  session_heads: {
    entityId: number; appId: number; subject: string; sessionId: number; startedAt: Date; endedAt: Date;
    backgroundedAt: Date | null;
  };
  sessions: {
    entityId: number; appId: number; startedAt: Date; endedAt: Date; receivedAt: Date; id: number;
    backgroundSeconds: number; timeout: number; utcOffset: number | null; subject: string; deviceId: string | null;
    userId: string | null; appVersion: string | null; sdkVersion: string | null; osVersion: string | null;
    deviceType: string | null; deviceModel: string | null; idiom: string | null; country: string | null;
    lang: string | null; carrier: string | null;
  };
  sor_api_keys: { entityId: number; sorId: number; lookup: Buffer; apiKey: string; createdAt: Date; };
  step_attempts: {
    entityId: number; kind: string; job: string; activity: string; attempt: number; process: number | null;
    isAlone: boolean; progress: string | null; deaths: number; begunAt: Date;
  };
  sync_batches: {
    entityId: number; runId: number; identifier: string; batch: string; outcomes: string | null; sent: number | null;
    recordsBefore: number; records: number;
  };
  sync_log: { entityId: number; runId: number; id: number; loggedAt: Date; line: string; };
  sync_pinned_batches: {
    entityId: number; runId: number; number: number; recordsBefore: number; position: string | null; items: string;
  };
  sync_records: {
    entityId: number; syncId: number; key: string; customerId: string | null; checksum: Buffer | null; runId: number;
    seenBy: number | null; sourceKey: Buffer | null; isDeleted: boolean; hasOtherSources: boolean;
  };
  sync_requests: {
    entityId: number; runId: number; id: number; sentAt: Date; writtenAt: Date; method: string; path: string;
    status: number | null; milliseconds: number;
  };
  sync_runs: {
    entityId: number; id: number; identifier: string; syncId: number; cause: 'schedule' | 'request' | 'redrive';
    requestedBy: number | null; scheduledFor: Date | null; covers: Date[]; dryRun: boolean;
    dryRunRecords: number | null; fresh: boolean; removalsConfirmed: boolean; rootId: number | null;
    state: 'accepted' | 'running' | 'finished' | 'failed' | 'canceled'; stage: string | null; generation: number;
    workflowRunId: string | null; receivedAt: Date; startedAt: Date | null; canceledAt: Date | null;
    endedAt: Date | null; cursorBefore: string | null; position: string | null; isBegun: boolean; isRead: boolean;
    share: number | null; batchesTaken: number; recordsTaken: number; lanesDone: number[]; answered: number;
    recordsRead: number; recordsWritten: number; recordsUnchanged: number; recordsIgnored: number;
    recordsFailed: number; unnamed: number; errorsByType: unknown; suspiciousIds: number; oddCursors: number;
    bytes: number; removed: number; removal: 'done' | 'held' | 'skipped' | null; removalReason: string | null;
    schemaChange: unknown; unmappedFields: string[]; missingFields: string[]; tries: number; fault: string | null;
    failingSince: Date | null; waitsUntil: Date | null; failureStatus: string | null; failure: string | null;
    sample: unknown; mailState: 'sending' | 'sent' | 'filed' | 'not_sent' | 'unknown' | null; mailTries: number;
    mailReason: string | null; mailDueAt: Date | null; alert: string | null; fieldsRead: string[] | null;
    requests: number; deletionsIgnored: number; unidentified: number;
  };
  syncs: {
    entityId: number; id: number; identifier: string; name: string; connectionId: number; stream: string;
    sorId: number | null; destinationId: number | null; destinationStream: string | null;
    destinationKey: string[] | null; mapping: unknown; mode: 'full' | 'incremental'; cursorField: string | null;
    removes: boolean; removalLimit: number; schedule: unknown; schemaRule: 'stop' | 'ignore' | 'follow';
    alerts: unknown; revision: number; cursor: string | null; knownFields: unknown; readFields: unknown;
    hasCopies: boolean; failures: number; pausedAt: Date | null; pausedReason: string | null;
    scheduledUntil: Date | null; createdBy: number | null; createdAt: Date; updatedAt: Date; deletedAt: Date | null;
  };
  systems_of_records: {
    entityId: number; id: number; identifier: string; name: string; type: 'app' | 'custom' | 'global';
    appId: number | null; disabled: boolean; revision: number; notifyEmails: string[]; createdBy: number | null;
    createdAt: Date; updatedAt: Date; deletedAt: Date | null;
  };
  tokens: {
    tokenHash: Buffer; userId: number; entityId: number; createdAt: Date; usedAt: Date; expiresAt: Date;
    endsAt: Date | null;
  };
  tombstone_batches: {
    entityId: number; key: string; kind: 'raised' | 'readmitted'; madeAt: Date; hashes: Buffer[];
    searchPending: boolean;
  };
  tombstones: { entityId: number; customerHash: Buffer; raisedAt: Date; };
  tracked_counts: {
    entityId: number; appId: number; day: string; id: number; events: number; sessions: number; locations: number;
  };
  unreadable_mails: { file: string; foundAt: Date; };
  user_aliases: {
    entityId: number; previousId: string; userId: string; appId: number | null; deviceId: string | null;
    witnessed: boolean; decision: 'confirmed' | 'refused' | null; decidedBy: number | null; decidedAt: Date | null;
    firstSeenAt: Date;
  };
  users: {
    id: number; uid: string; email: string; firstName: string; lastName: string; passwordHash: string;
    superadmin: boolean; preferedEntityId: number | null; createdAt: Date;
  };
  wallet_elements: {
    entityId: number; id: number; recipientId: number; position: number; technicalName: string; displayName: string;
    categoryId: number | null; defaultCategory: string | null;
  };
  wallet_purpose_elements: {
    entityId: number; purposeId: number; position: number; elementId: number | null; defaultElement: string | null;
  };
  wallet_recipients: {
    entityId: number; id: number; appId: number; identifier: string; technicalName: string; displayName: string;
    createdAt: Date; updatedAt: Date;
  };
  wallet_settings: { entityId: number; appId: number; languages: string[]; updatedAt: Date; };
  wallet_texts: {
    entityId: number; id: number; appId: number; kind: 'legal_text' | 'data_category' | 'purpose'; identifier: string;
    technicalName: string; title: unknown; body: unknown; createdAt: Date; updatedAt: Date;
  };
};

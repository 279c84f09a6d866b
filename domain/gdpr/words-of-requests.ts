import { APP, APP_NAME, DEVICE, type LocationWords, TEXT_MATCHES, USER } from './location-words.ts';

/** What is known of requests like the one that an archive answers, and of who looked at a person's data. */
export const REQUEST_WORDS = {
  gdpr_requests: {
    title: 'Requests of the person',
    about: 'That the person\'s data, or its deletion, was asked for. It is kept until a week after it was done.',
    fields: {},
    others: 'Part of the request as it is kept',
    isOfRequests: true,
  },
  gdpr_request_people: {
    title: 'Requests about the person',
    about: 'That the person\'s data, or its deletion, was asked for, this request included. It is kept until a week after it was done.',
    fields: {
      request: 'The request: its identifier here', identifier: 'The request: its identifier here', request_type: 'access, or delete',
      source: 'api: asked for by the company on the person\'s behalf; sdk: by the person, in an app; restore: found in a backup',
      app_id: APP, app_name: APP_NAME, ordinal: 'The person\'s place in the request, counted from 1', user_id: USER, device_id: DEVICE,
      received_at: 'When it was asked for (UTC)', requested_at: 'When it was asked for (UTC)',
      state: 'How far it is: pending, held (must not be deleted yet), building (an archive is being written) or treated',
      treated_at: 'When it was done (UTC)', round: 'In which round it was done', message: 'What was answered instead of an archive',
      archive_key: 'The archive: its name here', archive_bytes: 'How large the archive is, in bytes',
    },
    isOfRequests: true,
  },
  gdpr_identifiers: {
    title: 'Ids of the person',
    about: 'What the person is known by, as it was gathered for such a request. It goes when that is done.',
    fields: {
      request: 'The request: its identifier here', identifier: 'The request: its identifier here',
      kind: 'user_id, device_id, push_token, or whole_device (all that a device has sent)', value: 'The id',
      origin: 'asked (the id asked for), alias (an app linked it), confirmed (linked, and confirmed by the company), device (used by them)',
    },
    isOfRequests: true,
  },
  gdpr_left_identifiers: {
    title: 'Ids that were left alone',
    about: 'That an app has linked the person\'s id to another person whose data was asked for, and that it was left alone.',
    fields: {
      request: 'The request: its identifier here', identifier: 'The request: its identifier here',
      kind: 'user_id or device_id', value: 'The id',
      reason: 'unconfirmed (only an app says so), shared (others use it, too), too_many (more were linked than are followed)',
    },
    isOfRequests: true,
  },
  gdpr_mails: {
    title: 'Mails about requests',
    about: 'That people of the company were told of such a request.',
    fields: {},
    others: 'Part of what is kept of the mail',
    isOfRequests: true,
  },
  'access/': {
    title: 'Archives',
    about: 'Archives like this one that were made for the person. Each is kept for a week.',
    fields: {
      request: 'The request: its identifier here', ordinal: 'The person\'s place in the request, counted from 1',
      customer_id: 'The id that was asked for',
      archive_key: 'The archive: its name here', archive_bytes: 'How large it is, in bytes',
    },
    isOfRequests: true,
  },
  gdpr_holds: {
    title: 'Holds',
    about: 'That the person\'s data must not be deleted, or not be used, for now.',
    fields: {
      identifier: 'The hold: its identifier here', customer_type: 'Of what the id is: user_id or device_id', customer_id: 'The id',
      kind: 'hold: it must not be deleted; restriction: it must be neither deleted nor used', reason: 'Why', created_at: 'Since when (UTC)',
    },
  },
  privacy_requests: {
    title: 'Requests by device',
    about: 'What the person asked for in an app.',
    fields: {
      identifier: 'The request: its identifier here', request_type: 'access, or delete', device_id: DEVICE, user_id: USER,
      received_at: 'When (UTC)',
    },
    isOfRequests: true,
  },
  'outbox/': {
    title: 'Mails that name the person',
    about: 'Mails to people of the company, kept as files where no mail server is set, that name the person.',
    fields: TEXT_MATCHES,
    others: 'Part of the mail',
  },
  audit_log: {
    title: 'Who looked at the data',
    about: 'Each time a member of the company looked at or changed the person\'s data by name. It is kept without the person\'s name.',
    fields: {
      happened_at: 'When (UTC)', actor_kind: 'Who: a user of the company, a service_token or sor_key (a program), or the system itself',
      actor_id: 'Who it was: their number here', action: 'What was done', subject_kind: 'To what', subject: 'To which: its identifier here',
    },
    isOfRequests: true,
  },
  tombstones: {
    title: 'Earlier deletion',
    about: 'That the person\'s data was deleted before. It is kept without the person\'s name, so that nothing of it comes back.',
    fields: { raised_at: 'When (UTC)' },
    isOfRequests: true,
  },
  tombstone_batches: {
    title: 'Earlier deletion, as it is kept apart from the data',
    about: 'The same, for the day when the data has to be restored from a backup.',
    fields: {
      made_at: 'When (UTC)', kind: 'raised: from then on nothing was taken in; readmitted: from then on it was again',
      key: 'The file that says so: its name here',
    },
    isOfRequests: true,
  },
  gdpr_receipts: {
    title: 'Receipts',
    about: 'Signed receipts of what was shown or deleted. They are kept for ever, without the person\'s name.',
    fields: {
      identifier: 'The receipt: its identifier here', receipt: 'The receipt: its identifier here',
      request: 'The request: its identifier here', request_identifier: 'The request: its identifier here',
      request_type: 'access, or delete', issued_at: 'When (UTC)', round: 'For which round of the request',
    },
    isOfRequests: true,
  },
  export_deletions: {
    title: 'Lists for exported files',
    about: 'That systems to which data was exported were told to delete the person\'s, without naming them.',
    fields: {},
    others: 'Part of what is kept of the list',
    isOfRequests: true,
  },
} satisfies Record<string, LocationWords>;

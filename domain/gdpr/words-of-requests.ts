/** The words for locations of privacy requests, file exports and audit entries. */
import { APP, APP_NAME, DEVICE, type LocationWords, MATCHES, technical, TEXT_MATCHES, USER } from './location-words.ts';

const REQUEST = technical('Request: its identifier here');
const ORDINAL = technical('Your place in the request, counted from 1');
const TYPE = {
  label: 'What was asked for',
  values: { access: 'a copy of your data', delete: 'the deletion of your data' },
};
const KIND_OF_ID = {
  label: 'Kind of id',
  values: {
    user_id: 'User',
    device_id: 'Device',
    push_token: 'Address for messages to a device',
    whole_device: 'All that is stored of the device',
  },
};

export const REQUEST_WORDS = {
  file_jobs: {
    title: 'Files that were made about you',
    topic: 'requests',
    about: 'Files that the company asked for by your id, or by that of a device of yours. They are kept for a week.',
    sentences: ['{received_at}: the company asked for a file of {kind}'],
    fields: {
      file: technical('File: its identifier here'),
      received_at: 'When',
      kind: 'What is in it',
      query: technical('What was asked for'),
      ended_at: 'When it was made',
    },
  },
  'files/': {
    title: 'Files that may hold data about you',
    topic: 'requests',
    about:
      'Files of lists that the company asked for in the last week, and in which one of your ids stands. What they hold stands in this ' +
      'copy, too.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
  },
  gdpr_request_people: {
    title: 'Requests about you',
    topic: 'requests',
    about:
      'Requests for your data, or for its deletion, this one included. They are kept until a week after they were done.',
    sentences: ['{received_at}: {source} asked for {request_type}[; done {treated_at}]'],
    fields: {
      request: REQUEST,
      identifier: REQUEST,
      request_type: TYPE,
      source: {
        label: 'Who asked',
        values: { api: 'the company', sdk: 'you, in an app,', restore: 'Millrace, after a backup was restored,' },
      },
      app_id: APP,
      app_name: APP_NAME,
      ordinal: ORDINAL,
      user_id: USER,
      device_id: DEVICE,
      received_at: 'When',
      requested_at: 'When',
      state: {
        label: 'How far it is',
        values: {
          pending: 'it waits',
          held: 'your data must not be deleted yet',
          building: 'this copy is being written',
          treated: 'done',
        },
      },
      treated_at: { label: 'Done', kind: 'day' },
      round: technical('Round in which it was done'),
      message: 'What was answered in place of a copy',
      archive_key: technical('Copy: its name here'),
      archive_bytes: technical('Size of the copy, in bytes'),
    },
    isOfRequests: true,
  },
  gdpr_identifiers: {
    title: 'Ids found for a request',
    topic: 'requests',
    about: 'The ids by which your data was searched for such a request. They go when it is done.',
    sentences: ['{kind} *{value}*: {origin}'],
    fields: {
      request: REQUEST,
      identifier: REQUEST,
      kind: KIND_OF_ID,
      value: 'Id',
      origin: {
        label: 'How it was found',
        values: {
          asked: 'the request names it',
          alias: 'an app linked it to you',
          confirmed: 'linked to you, and confirmed by the company',
          device: 'you used it',
        },
      },
    },
    isOfRequests: true,
  },
  gdpr_left_identifiers: {
    title: 'Ids that were left alone',
    topic: 'requests',
    about: 'Ids that an app linked to a person whose data was asked for, and that were left alone.',
    sentences: ['{kind} *{value}*: {reason}'],
    fields: {
      request: REQUEST,
      identifier: REQUEST,
      kind: KIND_OF_ID,
      value: 'Id',
      reason: {
        label: 'Why',
        values: {
          unconfirmed: 'only an app says so',
          shared: 'others use it, too',
          too_many: 'too many ids were linked',
        },
      },
    },
    isOfRequests: true,
  },
  'access/': {
    title: 'Copies of your data',
    topic: 'requests',
    about: 'Copies like this one that were made for you. Each is kept for a week.',
    sentences: ['A copy of what is stored about *{customer_id}*'],
    fields: {
      request: REQUEST,
      ordinal: ORDINAL,
      customer_id: 'Id that was asked for',
      archive_key: technical('Copy: its name here'),
      archive_bytes: technical('Size in bytes'),
    },
    isOfRequests: true,
  },
  gdpr_holds: {
    title: 'Holds',
    topic: 'requests',
    about: 'That your data must not be deleted, or not be used, for now.',
    sentences: ['Since {created_at}: the data of *{customer_id}* {kind}[, because of: {reason}]'],
    fields: {
      identifier: technical('Hold: its identifier here'),
      customer_type: technical('Of what the id is: user_id or device_id'),
      customer_id: 'Id',
      kind: {
        label: 'What holds',
        values: { hold: 'must not be deleted', restriction: 'must be neither deleted nor used' },
      },
      reason: 'Why',
      created_at: { label: 'Since', kind: 'day' },
    },
  },
  'outbox/': {
    title: 'Mails that name you',
    topic: 'requests',
    about: 'Mails to members of the company that name you, kept as files where no mail server is set.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
    others: 'Part of the mail',
  },
  'scratch/': {
    title: 'Files of work under way',
    topic: 'requests',
    about: 'Files that work under way needs for a while and that name you. They are deleted when the work ends.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
    isOfRequests: true,
  },
  audit_log: {
    title: 'Who looked at your data',
    topic: 'requests',
    about: 'Each time somebody looked at your data by your name, or changed it. It is kept without your name.',
    sentences: ['{happened_at}: {actor_kind}[ (number {actor_id})] {action} {subject_kind}'],
    fields: {
      happened_at: 'When',
      actor_kind: {
        label: 'Who',
        values: {
          user: 'a member of the company',
          service_token: 'a program of the company',
          sor_key: 'a system of the company',
          system: 'Millrace itself',
        },
      },
      actor_id: 'Who it was: their number here',
      action: {
        label: 'What was done',
        values: {
          read: 'looked at',
          create: 'made',
          update: 'changed',
          delete: 'deleted',
          readmit: 'allowed to be stored again:',
        },
      },
      subject_kind: {
        label: 'To what',
        values: {
          customer: 'your data',
          gdpr_request: 'a request about you',
          gdpr_receipt: 'a receipt about you',
          gdpr_hold: 'a hold on your data',
        },
      },
      subject: technical('To which: its identifier here'),
    },
    isOfRequests: true,
  },
  tombstones: {
    title: 'Earlier deletion',
    topic: 'requests',
    about: 'That your data was deleted before. It is kept without your name, so that nothing of it comes back.',
    sentences: ['Deleted: {raised_at}'],
    fields: { raised_at: { label: 'When', kind: 'day' } },
    isOfRequests: true,
  },
  tombstone_batches: {
    title: 'Earlier deletion, as it is kept apart from the data',
    topic: 'requests',
    about: 'The same, for the day when the data has to be restored from a backup.',
    sentences: ['{made_at}: {kind}'],
    fields: {
      made_at: { label: 'When', kind: 'day' },
      kind: {
        label: 'What holds since',
        values: { raised: 'nothing of you is stored from then on', readmitted: 'it is stored again' },
      },
      key: technical('File that says so: its name here'),
    },
    isOfRequests: true,
  },
  gdpr_receipts: {
    title: 'Receipts',
    topic: 'requests',
    about: 'Signed receipts of what was shown or deleted. They are kept for ever, without your name.',
    sentences: ['{issued_at}: receipt for {request_type}'],
    fields: {
      identifier: technical('Receipt: its identifier here'),
      receipt: technical('Receipt: its identifier here'),
      request: REQUEST,
      request_identifier: REQUEST,
      request_type: TYPE,
      issued_at: { label: 'When', kind: 'day' },
      round: technical('Round of the request'),
    },
    isOfRequests: true,
  },
} satisfies Record<string, LocationWords>;

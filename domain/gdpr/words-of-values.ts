/** The words for locations of attribute values, imports, feeds and syncs. */
import { type LocationWords, MATCHES, SYNC, technical, TEXT_MATCHES } from './location-words.ts';

export const VALUE_WORDS = {
  attribute_values: {
    title: 'Attributes',
    topic: 'identity',
    about: "What the company's systems store about you: the present value of each attribute.",
    sentences: [
      'Attribute *{key}* in *{system_of_record_name}*: removed on {removed_at}',
      'Attribute *{key}* in *{system_of_record_name}*: [{string_value}][{number_value}][{boolean_value}][{date_value}][{datetime_value}]' +
        '[{set_elements}], since {changed_at}',
    ],
    fields: {
      system_of_record: technical('System that the value comes from: its identifier here'),
      system_of_record_name: 'System',
      key: 'Attribute',
      value_type: technical('Type of the value: String, Number, Boolean, Date, Datetime or Set (several texts)'),
      customer_id: technical('Id under which the value is stored'),
      string_value: 'Value',
      number_value: { label: 'Value', kind: 'json' },
      boolean_value: 'Value',
      date_value: { label: 'Value', kind: 'day' },
      datetime_value: 'Value',
      set_elements: 'Values',
      set_times: technical('When each of the values was added, in the same order'),
      changed_at: { label: 'Changed', kind: 'day' },
      removed_at: { label: 'Removed', kind: 'day' },
    },
  },
  customers: {
    title: 'Ids with attributes',
    topic: 'identity',
    about: 'The ids under which attributes of you are stored, or were.',
    sentences: ['{customer_type} *{customer_id}*'],
    fields: { customer_id: 'Id', customer_type: { label: 'Of', values: { 0: 'User', 1: 'Device' } } },
  },
  attribute_change_log: {
    title: 'When attributes changed',
    topic: 'identity',
    about: 'When one of your attributes changed. It does not tell which, and is kept for 40 days.',
    sentences: ['An attribute changed: {received_at}'],
    fields: { received_at: 'When', customer_id: 'Stored under the id' },
  },
  dry_run_sets: {
    title: 'Trial of an import',
    topic: 'origin',
    about:
      'What a trial of an import that runs now would make of attributes with several values. It goes when the trial ends.',
    fields: {
      customer_id: 'Id that they would be stored under',
      set_elements: 'Values',
      set_times: technical('When each of the values would count as added, in the same order'),
    },
  },
  dry_run_ids: {
    title: 'Ids in the trial of an import',
    topic: 'origin',
    about: 'Your id in a file whose trial runs now. It goes when the trial ends.',
    fields: { customer_id: 'Id', line: 'First line of the file with this id' },
  },
  import_errors: {
    title: 'Refused records',
    topic: 'origin',
    about:
      'Records about you that were refused, as they came. They are kept for a week, those of transfers for 30 days.',
    sentences: [MATCHES, 'Refused: {happened_at}[, because {message}]'],
    fields: {
      line: 'Line of the file, or number of the record',
      error_type: technical('Why it was refused, in one word'),
      happened_at: 'When',
      message: 'Why',
      customer_id: 'Id that the record named',
      attribute_key: 'Attribute',
      raw: 'Record as it came',
      ...TEXT_MATCHES,
    },
  },
  feed_requests: {
    title: 'Values that wait to be stored',
    topic: 'origin',
    about: 'What another system has sent about you, mostly seconds ago, and is not stored yet.',
    fields: {},
    others: 'As the other system sent it: your id, the name of the attribute, its value, and what to do with it',
  },
  'imports/': {
    title: 'Lines of imported files',
    topic: 'origin',
    about: 'Lines of imported files that name you. A file is kept for a week after its import.',
    sentences: [MATCHES, '{line}'],
    fields: { file: technical('File: its name here'), line: 'Line of the file', ...TEXT_MATCHES },
  },
  idempotent_requests: {
    title: 'Answers kept for repeats',
    topic: 'origin',
    about:
      'Answers to requests of other systems that name you, kept for 24 hours so that a request can safely be repeated.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
    others: 'Part of the answer as it is kept',
  },
} satisfies Record<string, LocationWords>;

export const SYNC_WORDS = {
  sync_records: {
    title: 'Transferred records',
    topic: 'recipients',
    about: 'Records about you that the company transferred from one of its systems to another.',
    sentences: [
      MATCHES,
      'A record about you went from *{source_name}* to *{destination_name}*[ (*{destination_stream}*)], by the transfer *{sync_name}*',
      'A record about you went to a system that is no longer connected[ (*{destination_stream}*)], by the transfer *{sync_name}*',
    ],
    fields: {
      sync: SYNC,
      sync_name: 'Transfer',
      source_name: 'From',
      destination_name: 'To',
      destination_stream: 'Table or list there',
      key: 'Key of the record there',
      customer_id: 'Your id in the record',
      ...TEXT_MATCHES,
    },
  },
  sync_batches: {
    title: 'Records on their way to another system',
    topic: 'recipients',
    about: 'Records about you that are being written to another system of the company. They go once they are written.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
  },
  sync_pinned_batches: {
    title: 'Records on their way in',
    topic: 'origin',
    about: 'Records about you that are being taken in from another system of the company, for seconds.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
  },
  sync_runs: {
    title: 'Transfers that name you',
    topic: 'recipients',
    about:
      'How far a transfer was, why it failed, and what a trial of it showed, where that names you. It is kept for 30 days.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
  },
  syncs: {
    title: 'Where a transfer goes on',
    topic: 'recipients',
    about: 'Where the next transfer begins, and why it is paused, where that names you.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
  },
  sync_log: {
    title: 'Notes of transfers',
    topic: 'recipients',
    about: 'What the systems between which records are transferred reported about you. It is kept for 30 days.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
  },
  sync_requests: {
    title: 'Requests of transfers',
    topic: 'recipients',
    about: 'Addresses of requests to the systems between which records are transferred, where they name you.',
    sentences: [MATCHES],
    fields: TEXT_MATCHES,
  },
} satisfies Record<string, LocationWords>;

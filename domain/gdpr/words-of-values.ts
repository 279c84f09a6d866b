import { type LocationWords, TEXT_MATCHES } from './location-words.ts';

/** Values of attributes, and what came with imports and feeds. */
export const VALUE_WORDS = {
  attribute_values: {
    title: 'Attributes',
    about: 'What systems of the company have stored about the person: the present value of each attribute.',
    fields: {
      system_of_record: 'The system that the value comes from: its identifier here; its name stands beside it',
      system_of_record_name: 'The system\'s name',
      key: 'The attribute\'s name',
      value_type: 'What kind of value it is: String (text), Number, Boolean (yes or no), Date, Datetime or Set (several texts)',
      customer_id: 'The id under which the value is stored',
      string_value: 'The value, of a text',
      number_value: { means: 'The value, of a number', kind: 'json' },
      boolean_value: 'The value, where it is yes (true) or no (false)',
      date_value: 'The value, of a date',
      datetime_value: 'The value, of a date with a time (UTC)',
      set_elements: 'The values, of a set',
      set_times: 'When each of these was added (UTC), in the same order',
      changed_at: 'When the value was last changed (UTC)',
      removed_at: 'When the value was removed (UTC); empty while it is there',
    },
  },
  customers: {
    title: 'Known ids',
    about: 'That attributes of the person are stored, or were.',
    fields: { customer_id: 'The id', customer_type: 'What it is the id of: 0 a user, 1 a device' },
  },
  attribute_change_log: {
    title: 'When attributes changed',
    about: 'When some attribute of the person was changed. It does not tell which, and is kept for 40 days.',
    fields: { received_at: 'When (UTC)', customer_id: 'The id under which the attribute is stored' },
  },
  dry_run_sets: {
    title: 'Sets within a trial import',
    about: 'What a trial of an import that is under way would make of attributes with several values. It goes when the trial ends.',
    fields: {
      customer_id: 'The id under which the value would be stored', set_elements: 'The values',
      set_times: 'When each of these would count as added (UTC), in the same order',
    },
  },
  import_errors: {
    title: 'Refused records',
    about: 'Records about the person that could not be taken in, as they came. They are kept for a week, those of transfers for 30 days.',
    fields: {
      line: 'The line of the file, or the record\'s place, counted from 1', error_type: 'Why it was refused, in one word',
      happened_at: 'When (UTC)', message: 'Why it was refused', customer_id: 'The id that the record named',
      attribute_key: 'The attribute\'s name', raw: 'The record as it came', ...TEXT_MATCHES,
    },
  },
  feed_requests: {
    title: 'Values that wait to be taken in',
    about: 'What another system has sent, mostly seconds ago, and is not stored yet.',
    fields: {},
    others: 'As the other system sent it: the person\'s id, the attribute\'s name, its value, and what to do with it',
  },
  'imports/': {
    title: 'Lines of imported files',
    about: 'Lines of files that were imported in which the person is named. A file is kept for a week after its import.',
    fields: { file: 'The file as it is kept: its name here', line: 'The line as it stands in the file', ...TEXT_MATCHES },
  },
  idempotent_requests: {
    title: 'Answers kept for repeats',
    about: 'Answers to requests of other systems that name the person, kept for 24 hours so that a request can safely be repeated.',
    fields: TEXT_MATCHES,
    others: 'Part of the answer as it is kept',
  },
} satisfies Record<string, LocationWords>;

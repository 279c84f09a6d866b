import { type LocationWords, SYNC, TEXT_MATCHES } from './location-words.ts';

/** What transfers between systems hold of people. */
export const SYNC_WORDS = {
  sync_batches: {
    title: 'Records on their way to another system',
    about: 'Records about the person that are being written to another system of the company. They go once they are written.',
    fields: TEXT_MATCHES,
  },
  sync_pinned_batches: {
    title: 'Records on their way in',
    about: 'Records about the person that are being taken in from another system of the company, for seconds.',
    fields: TEXT_MATCHES,
  },
  sync_records: {
    title: 'Transferred records',
    about: 'That a record about the person was taken from one system of the company to another.',
    fields: {
      sync: SYNC, key: 'The record\'s key in the system it was written to', customer_id: 'The id of the person in the record',
      ...TEXT_MATCHES,
    },
  },
  sync_runs: {
    title: 'Transfers that name the person',
    about: 'Where a transfer stood, why it failed, and what a trial of it showed, where that names the person. It is kept for 30 days.',
    fields: TEXT_MATCHES,
  },
  syncs: {
    title: 'Where a transfer goes on',
    about: 'Where the next transfer begins, and why it is paused, where that names the person.',
    fields: TEXT_MATCHES,
  },
  sync_log: {
    title: 'Notes of transfers',
    about: 'What the systems between which records are transferred said about the person. It is kept for 30 days.',
    fields: TEXT_MATCHES,
  },
} satisfies Record<string, LocationWords>;

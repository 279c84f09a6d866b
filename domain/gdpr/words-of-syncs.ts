import { type LocationWords, MATCHES, SYNC, TEXT_MATCHES } from './location-words.ts';

/** What transfers between systems hold of people. */
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
} satisfies Record<string, LocationWords>;

import type { FileQuery } from '../../../store/files/file-sources.ts';

/** Asks for a file of all events of an entity: one that can be built anew, as an erasure may begin it. */
export const ALL_EVENTS: FileQuery<'events'> = {
  filter: { appIds: null, oneOf: {} },
  fields: ['event_id', 'name'],
  isGrouped: false,
};

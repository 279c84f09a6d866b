/**
 * How a field is shown: `json`: a JSON text as what it says, numbers digit for digit; `app`: our
 * number of an app as its identifier, with its name beside it; `person`: an id that may be another's, who is not named then.
 */
export type FieldKind = 'json' | 'app' | 'person';

type Field = { means: string; kind?: FieldKind };

/** What an archive says about a location where something about a person may lie, for a reader who knows nothing of Millrace. */
export type LocationWords = {
  title: string;
  /** A sentence or two: what lies there, since when or how long. */
  about: string;
  fields: Record<string, string | Field>;
  /** What fields mean that have other names: whoever sent them chose these. */
  others?: string;
  /** Tells only that somebody asked about the person, or erased them: by itself no reason for an archive. */
  isOfRequests?: true;
};

/** Fields of locations whose texts are counted where an id stands in them (docs/gdpr.md). */
export const TEXT_MATCHES = {
  matches: 'How many entries hold one of the ids somewhere in their text. They may be about others, so they are counted, not shown',
  within: 'In what they lie: its identifier here',
};

export const APP: Field = { means: 'The app: its identifier here; its name stands beside it', kind: 'app' };
export const APP_NAME = 'The app\'s name';
export const DEVICE = 'The identifier that the app has given to the device';
export const USER = 'The user id under which the person is known';
export const SYNC = 'The transfer between two systems: its identifier here';
export const TIME_ZONE = 'How far the device\'s clock was ahead of UTC, in minutes';

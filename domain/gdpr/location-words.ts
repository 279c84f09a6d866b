/** The types and shared values of the words in which archives describe locations. */
/** The topics of an archive's page, in order. */
export const TOPICS = {
  identity: { title: 'Who you are', nothing: 'Nothing is stored that says who you are.' },
  activity: { title: 'What you did', nothing: 'Nothing is stored about what you did.' },
  messages: { title: 'What we sent you', nothing: 'No message to you is stored.' },
  recipients: { title: 'Who received it', nothing: 'No transfer of your data to another system is stored.' },
  origin: { title: 'Where it came from', nothing: 'Nothing is stored about where your data came from.' },
  requests: { title: 'Your requests, and who looked', nothing: 'Nothing is stored about requests like this one.' },
} as const;
export type Topic = keyof typeof TOPICS;

/** How a field is shown; `app`: as identifier and name; `person`: hidden if it is another's id. */
export type FieldKind = 'json' | 'app' | 'person' | 'day';

export type Field = {
  label: string;
  kind?: FieldKind;
  values?: Readonly<Record<string, string>>;
  /** Only for programs: the page leaves it out. */
  isTechnical?: true;
};

/** An entry as a sentence: `{field}` is a value, `*…*` is set apart, `[…]` goes if a field in it has no value. */
export type Sentence = string;

/** The words of an archive about a location, for a reader who knows nothing of Millrace. */
export type LocationWords = {
  title: string;
  topic: Topic;
  /** A sentence or two: what the location holds, since when or how long. */
  about: string;
  /** Sentences; the first that fits is used. If none fits, the page lists the fields. */
  sentences?: readonly Sentence[];
  /** Words for fields: the name that a person reads before the value. */
  fields: Record<string, string | Field>;
  /** Words for fields whose names the sender chose. */
  others?: string;
  /** Its records only say that a person asked, or was erased: alone they make no archive. */
  isOfRequests?: true;
};

/** Fields of locations whose texts are counted if an id stands in them (docs/gdpr.md). */
export const TEXT_MATCHES = {
  matches: 'Texts that hold one of your ids',
  within: 'What they lie in: its identifier here',
};

/** The sentence for texts that may be about others. */
export const MATCHES =
  'One of your ids stands in {matches} of them[, within {within}]. ' +
  'They may be about others, so they are counted, not shown.';

export const technical = (label: string): Field => ({ label, isTechnical: true });

export const APP: Field = { label: 'App: its identifier here', kind: 'app', isTechnical: true };
export const APP_NAME = 'App';
export const DEVICE = 'Device, by the identifier that the app gave to it';
export const USER = 'Your user id';
export const SYNC = technical('Transfer: its identifier here');
export const TIME_ZONE = technical("Minutes by which the device's clock was ahead of UTC");

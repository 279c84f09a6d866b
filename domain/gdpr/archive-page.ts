/** The page of an archive: what Millrace stores about a person, in words, for that person. */
import { numberText } from '../json/exact-json.ts';
import { escaped } from '../text/html.ts';
import { thousands } from '../text/mail-text.ts';
import type { Sentence } from './location-words.ts';
import { fieldLabel, fieldOf, type LocationWords, locationWords, type Topic, TOPICS } from './personal-data-words.ts';

/** The records of a location that a page shows, and how many there are. */
export type PageSection = { location: string; records: Record<string, unknown>[]; total: number };

/** An exporter that has put files into a bucket of the company: any of them may name the person. */
export type FileRecipient = {
  name: string;
  types: string[];
  /** ISO 8601; null: none of its runs succeeded. */
  last_run_at: string | null;
};

/** The heading of an archive: request, person, and the time of writing (ISO 8601). */
export type ArchiveHead = {
  request: string;
  /** The person's number in the request, from 1. */
  person: number;
  company: string;
  madeAt: string;
  /** The person's ids, with their kinds. */
  ids: { kind: string; id: string }[];
  fileRecipients: FileRecipient[];
};

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:45rem;margin:0 auto;padding:1rem;color:#1b1b1b;background:#fff;
overflow-wrap:anywhere}
h1{line-height:1.2}h2{margin-top:3rem;border-top:3px solid #333;padding-top:.5rem}h3{margin:2rem 0 0}h3+p{margin-top:.25rem}
ul,ol{padding-left:1.25rem}ul.entries{list-style:none;padding:0}.entries>li{border-top:1px solid #ccc;padding:.5rem 0}
p,dl,dd,dl ul{margin-top:0;margin-bottom:0}h1~p,h3~p,nav{margin-bottom:1rem}em{font-style:normal;font-weight:600}
dl{display:grid;grid-template-columns:minmax(8rem,14rem) 1fr;gap:0 1rem;font-size:.875rem}
dt{color:#595959}dd{margin-left:0;white-space:pre-line}dd ul{white-space:normal}p+dl{margin-top:.25rem}
@media (max-width:30rem){dl{display:block}dd{margin-bottom:.25rem}}
@media print{body{font-size:10pt;max-width:none;padding:0}h2,h3{break-after:avoid}.entries>li{break-inside:avoid}a{color:inherit}}`;

const KINDS: Record<string, string> = {
  user_id: 'user',
  device_id: 'device',
  push_token: 'address for messages to a device',
};

const MAX_CHARS = 2_000;
const MAX_DEPTH = 8;

/** Returns the page of an archive for its person: one file, without scripts, that loads nothing. */
export function archivePage(head: ArchiveHead, sections: PageSection[]): string {
  const found = sections.filter(({ total }) => total > 0);
  const empty = sections.filter(({ total }) => total === 0);
  const topics = Object.keys(TOPICS) as Topic[];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>What is stored about you</title>
<style>${STYLE}</style>
</head>
<body>
${introduction(head)}
<nav>
${list(topics.map((topic) => `<a href="#topic-${topic}">${TOPICS[topic].title}</a>`))}
</nav>
${topics.map((topic) => topicPart(topic, found, topic === 'recipients' ? filesSection(head) : '')).join('\n')}
<h2>Looked for, and nothing found</h2>
${list(empty.map(({ location }) => escaped(locationWords(location).title)))}
</body>
</html>
`;
}

function introduction({ company, madeAt, request, person, ids }: ArchiveHead): string {
  return `<h1>What is stored about you</h1>
<p>This is all that ${escaped(company)} stores in Millrace about the person known by:</p>
${list(ids.map(({ kind, id }) => `${escaped(KINDS[kind] ?? kind)} <bdi>${escaped(id)}</bdi>`))}
<p>“We” is ${escaped(company)}, “you” is that person. Times are in UTC. For programs the same lies beside this page: all of it in
<code>data.json</code>, and each list as a table in the folder <code>csv</code>.</p>
<p>Made on ${shownDate(new Date(madeAt))}, for request ${escaped(request)}, person ${person}. What your data is used for, how long it is
kept and what rights you have: ask ${escaped(company)}.</p>`;
}

function topicPart(topic: Topic, found: PageSection[], more: string): string {
  const parts = found.filter(({ location }) => locationWords(location).topic === topic).map(sectionPart);
  const all = more === '' ? parts : [more, ...parts];
  return `<h2 id="topic-${topic}">${TOPICS[topic].title}</h2>
${all.length === 0 ? `<p>${TOPICS[topic].nothing}</p>` : all.join('\n')}`;
}

/** Millrace keeps no record of which people a file names, so each exporter with files is listed. */
function filesSection({ fileRecipients, company }: ArchiveHead): string {
  if (fileRecipients.length === 0) return '';
  const entries = fileRecipients.map(({ name, types, last_run_at: at }) => {
    const last = at === null ? '' : `, last on ${shownDay(new Date(at))}`;
    return `<li><p><em>${escaped(name)}</em>: files of ${escaped(types.join(', '))}${last}</p></li>`;
  });
  return `<section>
<h3>Files</h3>
<p>Files that Millrace writes for ${escaped(company)}. Each may name you.</p>
<ul class="entries">
${entries.join('\n')}
</ul>
</section>`;
}

function sectionPart({ location, records, total }: PageSection): string {
  const words = locationWords(location);
  return `<section>
<h3 id="${escaped(location)}">${escaped(words.title)}</h3>
<p>${escaped(words.about)}${remainder(records.length, total)}</p>
<ul class="entries">
${records.map((record) => `<li>${entry(words, record)}</li>`).join('\n')}
</ul>
</section>`;
}

/** Returns how many records there are, if many, or not all shown. */
function remainder(shown: number, total: number): string {
  if (shown === total) return total === 1 ? '' : ` ${thousands(total)} entries.`;
  const first = shown === 0 ? 'None of them is' : `The first ${thousands(shown)} are`;
  return ` ${thousands(total)} entries in all. ${first} shown here; all of them are in <code>data.json</code>.`;
}

function entry(words: LocationWords, record: Record<string, unknown>): string {
  const sentence = fittingSentence(words.sentences ?? [], record) ?? [];
  const told = new Set(fieldsIn(sentence));
  const rest = Object.entries(record)
    .filter(([name, value]) => hasValue(value) && !told.has(name) && !fieldOf(words, name)?.isTechnical)
    .map(
      ([name, value]) => `<dt>${escaped(fieldLabel(words, name))}</dt><dd dir="auto">${shown(words, name, value)}</dd>`,
    );
  return [
    ...(sentence.length === 0
      ? []
      : [`<p dir="auto">${sentence.map((part) => sentencePart(words, record, part)).join('')}</p>`]),
    ...(rest.length === 0 ? [] : [`<dl>${rest.join('')}</dl>`]),
  ].join('\n');
}

function fieldsIn(parts: SentencePart[]): string[] {
  return parts.flatMap((part) =>
    part.kind === 'field' ? [part.name] : part.kind === 'emphasis' ? fieldsIn(part.parts) : [],
  );
}

function sentencePart(words: LocationWords, record: Record<string, unknown>, part: SentencePart): string {
  if (part.kind === 'text') return escaped(part.text);
  if (part.kind === 'field') return `<bdi>${shown(words, part.name, record[part.name])}</bdi>`;
  return `<em>${part.parts.map((inner) => sentencePart(words, record, inner)).join('')}</em>`;
}

function shown(words: LocationWords, name: string, value: unknown): string {
  const { values, kind } = fieldOf(words, name) ?? {};
  const code = numberText(value) ?? value;
  if (values && typeof code === 'string' && Object.hasOwn(values, code)) return escaped(values[code]!);
  if (kind === 'day') return value instanceof Date ? shownDay(value) : shownDay(new Date(`${String(value)}T00:00:00Z`));
  return shownValue(value);
}

function shownValue(value: unknown, depth = 0): string {
  if (!hasValue(value)) return '';
  if (value instanceof Date) return shownDate(value);
  if (value === '') return '(empty)';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return cut(value);
  const number = numberText(value);
  if (number !== undefined) return number;
  if (depth === MAX_DEPTH) return cut(JSON.stringify(value));
  if (Array.isArray(value)) return value.map((one) => shownValue(one, depth + 1)).join(', ');
  return list(Object.entries(value as object).map(([name, of]) => `${escaped(name)}: ${shownValue(of, depth + 1)}`));
}

function hasValue(value: unknown): boolean {
  return value !== null && value !== undefined;
}

function cut(text: string): string {
  if (text.length <= MAX_CHARS) return escaped(text);
  const start = escaped(text.slice(0, MAX_CHARS).toWellFormed());
  return `${start}… (${thousands(text.length)} characters; all of them are in data.json)`;
}

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
const TIME = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: 'UTC' });

function shownDay(date: Date): string {
  return DAY.format(date);
}

function shownDate(date: Date): string {
  return `${DAY.format(date)}, ${TIME.format(date)}`;
}

function list(items: string[]): string {
  return items.length === 0 ? '<p>Nothing.</p>' : `<ul>\n${items.map((item) => `<li>${item}</li>`).join('\n')}\n</ul>`;
}

export type SentencePart =
  | { kind: 'text'; text: string }
  | { kind: 'field'; name: string }
  | { kind: 'emphasis'; parts: SentencePart[] };

type Parsed = SentencePart | { kind: 'optional'; parts: SentencePart[] };

/** Returns the first sentence whose fields have values in the record, without optional parts that have none. */
function fittingSentence(sentences: readonly Sentence[], record: Record<string, unknown>): SentencePart[] | undefined {
  const has = (part: SentencePart): boolean => {
    if (part.kind === 'text') return true;
    return part.kind === 'field'
      ? record[part.name] !== null && record[part.name] !== undefined
      : part.parts.every(has);
  };
  const found = sentences.map(parsed).find((parts) => parts.every((part) => part.kind === 'optional' || has(part)));
  return found?.flatMap((part) => (part.kind !== 'optional' ? [part] : part.parts.every(has) ? part.parts : []));
}

const PARSED = new Map<Sentence, Parsed[]>();

function parsed(sentence: Sentence): Parsed[] {
  const parts = PARSED.get(sentence) ?? parse(sentence);
  PARSED.set(sentence, parts);
  return parts;
}

/** Emphasis may stand within an optional part, not the other way round. */
function parse(sentence: string): Parsed[] {
  return sentence
    .split(/(\[[^[\]]*\])/)
    .flatMap((piece): Parsed[] =>
      piece.startsWith('[') ? [{ kind: 'optional', parts: parseFixed(piece.slice(1, -1)) }] : parseFixed(piece),
    );
}

function parseFixed(text: string): SentencePart[] {
  return text
    .split(/(\*[^*]*\*|\{\w+\})/)
    .filter((piece) => piece !== '')
    .map((piece): SentencePart => {
      if (piece.startsWith('*')) return { kind: 'emphasis', parts: parseFixed(piece.slice(1, -1)) };
      return piece.startsWith('{') ? { kind: 'field', name: piece.slice(1, -1) } : { kind: 'text', text: piece };
    });
}

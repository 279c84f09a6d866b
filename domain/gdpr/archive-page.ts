import { numberText } from '../core/exact-json.ts';
import { escaped } from '../core/html.ts';
import { thousands } from '../core/mail-text.ts';
import { fieldWords, type LocationWords, locationWords } from './personal-data-words.ts';

/** The records that a page shows of a location, and how many there are. */
export type PageSection = { location: string; records: Record<string, unknown>[]; total: number };

/** What an archive is: of which request of whom, and when it was made (ISO 8601). */
export type ArchiveHead = {
  request: string;
  /** Their number among those of the request, from 1. */
  person: number;
  company: string;
  madeAt: string;
  /** The ids that the person is known by, and what each of them is. */
  ids: { kind: string; id: string }[];
};

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
h2{margin-top:2.5rem;border-top:1px solid #ccc;padding-top:1rem}.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.875rem}caption{text-align:left;padding:.25rem 0;font-style:italic}
th,td{border:1px solid #ccc;padding:.25rem .5rem;text-align:left;vertical-align:top;max-width:40rem;overflow-wrap:anywhere}
th{background:#f3f3f3}dt{font-weight:600;margin-top:.25rem}dd{margin-left:1.5rem}pre{margin:0;white-space:pre-wrap}
@media print{.scroll{overflow:visible}}`;

/** What an id is, in words. */
const KINDS: Record<string, string> = { user_id: 'user', device_id: 'device', push_token: 'address for messages to a device' };

/** A value longer than that is cut in the page. */
const MAX_CHARS = 2_000;

/** The page of an archive for a person to read: whole in itself, without scripts, and nothing in it is fetched from anywhere. */
export function archivePage(head: ArchiveHead, sections: PageSection[]): string {
  const found = sections.filter(({ total }) => total > 0);
  const empty = sections.filter(({ total }) => total === 0);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Personal data</title>
<style>${STYLE}</style>
</head>
<body>
${introduction(head)}
<h2>What is in here</h2>
${list(found.map(({ location, total }) =>
    `<a href="#${escaped(location)}">${escaped(locationWords(location).title)}</a>: ${thousands(total)}`))}
${found.map(sectionOf).join('\n')}
<h2>Looked for, and nothing found</h2>
${list(empty.map(({ location }) => escaped(locationWords(location).title)))}
</body>
</html>
`;
}

function introduction({ company, madeAt, request, person, ids }: ArchiveHead): string {
  return `<h1>Personal data</h1>
<p>This is what is stored for ${escaped(company)} about the person known by:</p>
${list(ids.map(({ kind, id }) => `${escaped(KINDS[kind] ?? kind)} <bdi>${escaped(id)}</bdi>`))}
<p>Made ${escaped(shownDate(new Date(madeAt)))}, for request ${escaped(request)}, person ${person}. All of it is also in
<code>data.json</code>, for programs to read. Times are in UTC. For what purposes the data is used, who receives it, how long it is
kept and what rights you have, ask ${escaped(company)}.</p>`;
}

function sectionOf({ location, records, total }: PageSection): string {
  const words = locationWords(location);
  const names = columnsOf(records);
  const rows = records.map((record) => `<tr>${names.map((name) => `<td dir="auto">${cell(record[name])}</td>`).join('')}</tr>`);
  return `<section>
<h2 id="${escaped(location)}">${escaped(words.title)}</h2>
<p>${escaped(words.about)}</p>
<details><summary>What the columns mean</summary>
<dl>${names.map((name) => meaningOf(words, name)).join('\n')}</dl>
</details>
<div class="scroll"><table>
<caption>${captionOf(records.length, total)}</caption>
<thead><tr>${names.map((name) => `<th scope="col">${escaped(name)}</th>`).join('')}</tr></thead>
<tbody>
${rows.join('\n')}
</tbody></table></div>
</section>`;
}

function captionOf(shown: number, total: number): string {
  const all = total === 1 ? '1 entry' : `${thousands(total)} entries`;
  if (shown === total) return all;
  const first = shown === 0 ? 'None of them is' : `The first ${thousands(shown)} are`;
  return `${all} in all. ${first} shown here; all of them are in <code>data.json</code>.`;
}

/** Those in which some record has something, in the order in which they come first. */
function columnsOf(records: Record<string, unknown>[]): string[] {
  const names = new Set<string>();
  for (const record of records) {
    for (const [name, value] of Object.entries(record)) if (value !== null && value !== undefined) names.add(name);
  }
  return [...names];
}

function meaningOf(words: LocationWords, name: string): string {
  return `<dt>${escaped(name)}</dt><dd>${escaped(fieldWords(words, name) ?? 'As it is stored')}</dd>`;
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value) && value.every((one) => one === null || typeof one !== 'object' || one instanceof Date)) {
    return value.map(cell).join('<br>');
  }
  if (value instanceof Date) return escaped(shownDate(value));
  const number = numberText(value);
  if (number !== undefined) return number;
  if (typeof value === 'object') return `<pre>${cut(JSON.stringify(value, null, 1))}</pre>`;
  return cut(typeof value === 'string' ? value : JSON.stringify(value));
}

function cut(text: string): string {
  if (text.length <= MAX_CHARS) return escaped(text);
  const start = escaped(text.slice(0, MAX_CHARS).toWellFormed());
  return `${start}… <em>(${thousands(text.length)} characters; all of them are in data.json)</em>`;
}

function shownDate(date: Date): string {
  return date.toISOString().replace('T', ' ').replace(/(?:\.000)?Z$/, ' UTC');
}

function list(items: string[]): string {
  return items.length === 0 ? '<p>Nothing.</p>' : `<ul>\n${items.map((item) => `<li>${item}</li>`).join('\n')}\n</ul>`;
}

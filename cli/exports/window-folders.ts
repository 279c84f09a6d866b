/** The folder of a window in the bucket, and its keys. */
export type WindowFolder = {
  path: string;
  exporter: string;
  isBackfill: boolean;
  /** The times in the folder's name; null for a backfill, which has local days. */
  span: { start: Date | null; end: Date } | null;
  keys: string[];
};

const INSTANT = String.raw`\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ`;
const WINDOW = new RegExp(`^(?<exporter>.*[^/])/(?<name>(?<start>beginning|${INSTANT})_(?<end>${INSTANT}))/`);
const BACKFILL = /^(?<exporter>.*[^/])\/backfill\/(?<name>\d{4}-\d\d-\d\d_\d{4}-\d\d-\d\d)\//;

/** Groups the keys of a bucket by window. Other keys are not exports. */
export async function windowFolders(keys: AsyncIterable<string>): Promise<WindowFolder[]> {
  const folders = new Map<string, WindowFolder>();
  for await (const key of keys) {
    const backfill = BACKFILL.exec(key);
    const match = backfill ?? WINDOW.exec(key);
    if (!match) continue;
    const path = match[0].slice(0, -1);
    const folder = folders.get(path) ?? { path, ...described(match, backfill !== null), keys: [] };
    folder.keys.push(key);
    folders.set(path, folder);
  }
  return [...folders.values()];
}

function described(
  { groups }: RegExpExecArray,
  isBackfill: boolean,
): Pick<WindowFolder, 'exporter' | 'isBackfill' | 'span'> {
  const { exporter, start, end } = groups as { exporter: string; start?: string; end?: string };
  const span = isBackfill ? null : { start: start === 'beginning' ? null : instant(start!), end: instant(end!) };
  return { exporter: exporter.split('/').at(-1)!, isBackfill, span };
}

/** Reads a time of a key, which has no colons: 2026-11-20T23-00-00Z. */
const instant = (text: string) => new Date(text.replace(/T(\d\d)-(\d\d)-/, 'T$1:$2:'));

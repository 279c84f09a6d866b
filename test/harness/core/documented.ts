import { readFile } from 'node:fs/promises';

/** A piece of code in a page of docs, and the chapter that it stands in: `Decrypting: With Python`. */
export type Documented = { language: string; code: string; chapter: string };

/** The fenced pieces of code of a page, in order. */
export async function documented(page: string): Promise<Documented[]> {
  const text = await readFile(new URL(`../../../docs/${page}`, import.meta.url), 'utf8');
  const pieces: Documented[] = [];
  let chapter = '';
  let section = '';
  let fence: { language: string; lines: string[] } | null = null;
  for (const line of text.split('\n')) {
    if (fence && line === '```') {
      pieces.push({
        language: fence.language,
        code: fence.lines.join('\n'),
        chapter: section ? `${chapter}: ${section}` : chapter,
      });
      fence = null;
    } else if (fence) fence.lines.push(line);
    else if (line.startsWith('```')) fence = { language: line.slice('```'.length), lines: [] };
    else if (line.startsWith('## ')) [chapter, section] = [line.slice('## '.length), ''];
    else if (line.startsWith('### ')) section = line.slice('### '.length);
  }
  return pieces;
}

export function codeOf(pieces: Documented[], language: string, chapter: string): string[] {
  return pieces.filter((piece) => piece.language === language && piece.chapter === chapter).map(({ code }) => code);
}

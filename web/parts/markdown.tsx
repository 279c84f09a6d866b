import type { ReactNode } from 'react';

/** Code in backticks, or a link: the only Markdown that descriptions of the server have. */
const MARKED = /`([^`]+)`|\[([^\]]+)\]\(([^)]+)\)/g;

/** Shows a line of Markdown; its links are relative to the page `manual` of the manual. */
export function Markdown({ text, manual }: { text: string; manual: string }) {
  const parts: ReactNode[] = [];
  let end = 0;
  for (const match of text.matchAll(MARKED)) {
    const [whole, code, words, link] = match;
    parts.push(text.slice(end, match.index));
    parts.push(
      code === undefined ? (
        <a key={match.index} href={new URL(link!, `${location.origin}/manual/${manual}.md`).href}>
          {words}
        </a>
      ) : (
        <code key={match.index}>{code}</code>
      ),
    );
    end = match.index + whole.length;
  }
  return (
    <span className="prose">
      {parts}
      {text.slice(end)}
    </span>
  );
}

import type { Sentence } from './location-words.ts';

export type SentencePart =
  | { kind: 'text'; text: string }
  | { kind: 'field'; name: string }
  | { kind: 'emphasis'; parts: SentencePart[] };

type Parsed = SentencePart | { kind: 'optional'; parts: SentencePart[] };

/** The first sentence whose fields have values in the record, without what it may leave out; undefined: none fits. */
export function fittingSentence(
  sentences: readonly Sentence[],
  record: Record<string, unknown>,
): SentencePart[] | undefined {
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

/** Emphasis may stand within what is left out, not the other way round. */
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

/** Reads XML as a stream of events. */
import { SaxesParser } from 'saxes';
import { Refusal } from '../../domain/core/refusal.ts';
import { sourceRefusal } from '../core/source-refusal.ts';

/** Names have no prefixes. */
export type XmlEvents<T = never> = {
  open?(name: string, attributes: Record<string, string>): void;
  close?(name: string): void;
  text?(text: string): void;
  /** Called after each few characters, and at the end: returns what can be handed on, or null. */
  take?(isEnd: boolean): T | null;
};

/** Maximum length of a tag, text or comment in characters, and depth of elements: far more than Excel writes. */
const MAX_TOKEN = 1024 * 1024;
const MAX_DEPTH = 64;
/** Number of characters after which results may be handed on: a cell may name a text a thousand times its own size. */
const SLICE = 8 * 1024;

/**
 * Reads XML, calls `events`, and yields what they return. Refuses XML that is not well-formed, is not UTF-8, or has a
 * document type, which could declare entities that expand without end.
 */
export async function* parseXml<T = never>(
  part: string,
  bytes: AsyncIterable<Buffer>,
  events: XmlEvents<T>,
): AsyncGenerator<T, void, undefined> {
  const parser = new SaxesParser();
  let depth = 0;
  let lastToken = 0;
  const token = () => {
    lastToken = parser.position;
  };
  parser.on('opentag', ({ name, attributes }) => {
    token();
    depth += 1;
    if (depth > MAX_DEPTH) throw refused(part, 'is nested too deeply');
    events.open?.(localName(name), attributes);
  });
  parser.on('closetag', ({ name }) => {
    token();
    depth -= 1;
    events.close?.(localName(name));
  });
  for (const kind of ['text', 'cdata'] as const) {
    parser.on(kind, (text) => {
      token();
      events.text?.(text);
    });
  }
  parser.on('comment', token);
  parser.on('processinginstruction', token);
  parser.on('doctype', () => {
    throw refused(part, 'has a document type declaration');
  });
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const write = (step: () => void) => {
    try {
      step();
    } catch (error) {
      throw error instanceof Refusal ? error : refused(part, 'is no XML in UTF-8');
    }
    if (parser.position - lastToken > MAX_TOKEN) throw refused(part, 'has a text of over 1 MiB');
  };
  for await (const chunk of bytes) {
    let text = '';
    write(() => {
      text = decoder.decode(chunk, { stream: true });
    });
    for (let at = 0; at < text.length; at += SLICE) {
      write(() => {
        parser.write(text.slice(at, at + SLICE));
      });
      const taken = events.take?.(false) ?? null;
      if (taken !== null) yield taken;
    }
  }
  write(() => {
    parser.close();
  });
  const last = events.take?.(true) ?? null;
  if (last !== null) yield last;
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

export function refused(part: string, why: string): Refusal {
  return sourceRefusal('source_refused', `The Excel file cannot be read (${part} ${why}): save it anew as .xlsx`);
}

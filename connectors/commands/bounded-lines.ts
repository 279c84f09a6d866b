import { withoutCutWord } from '../../domain/core/text-limits.ts';

const NEWLINE = 0x0a;

export type Line = {
  /** Without its end; of a line over the limit, its first part without the word that is cut. */
  text: string;
  /** Of the whole line. */
  bytes: number;
  isCut: boolean;
  /** False for what stands behind the last newline. */
  isEnded: boolean;
};

/** The lines of a stream, empty ones left out, of which no more than `limit` bytes are kept. */
export async function* boundedLines(chunks: AsyncIterable<Buffer>, limit: number): AsyncGenerator<Line> {
  let kept: Buffer[] = [];
  let bytes = 0;
  const keep = (part: Buffer) => {
    if (bytes < limit) kept.push(part.subarray(0, limit - bytes));
    bytes += part.length;
  };
  const take = (isEnded: boolean): Line => {
    const text = Buffer.concat(kept).toString('utf8');
    const isCut = bytes > limit;
    const line = { text: isCut ? withoutCutWord(text) : text, bytes, isCut, isEnded };
    kept = [];
    bytes = 0;
    return line;
  };
  for await (const chunk of chunks) {
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      keep(chunk.subarray(from, at));
      from = at + 1;
      const line = take(true);
      if (line.text.trim() !== '') yield line;
    }
    // A copy: the rest of a line must not hold the whole chunk in memory.
    if (from < chunk.length) keep(Buffer.from(chunk.subarray(from)));
  }
  if (bytes > 0) yield take(false);
}

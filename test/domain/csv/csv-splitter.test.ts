import { Buffer, isUtf8 } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { recordBytes, resumeAfter, type BadReason, type Piece } from '../../../domain/csv/csv-pieces.ts';
import { createCsvSplitter, type SplitterOptions } from '../../../domain/csv/csv-splitter.ts';
import { cpuTime } from '../../harness/core/cpu-time.ts';
import { sampledRuns } from '../../harness/run/seed.ts';

/** One record or one bad piece, as the splitter's user sees it. */
type Item = { what: 'record' | BadReason; offset: number; line: number; text: string };

const MAX = 12;

/** The rules once more, byte by byte over the whole file, with nothing remembered. */
function model(file: Buffer, max: number): Item[] {
  const items: Item[] = [];
  let at = file.subarray(0, 3).toString('hex') === 'efbbbf' ? 3 : 0;
  let line = 1;
  const take = (what: Item['what'], contentEnd: number, next: number) => {
    const bytes = file.subarray(at, contentEnd);
    const isText = what !== 'record' || isUtf8(bytes);
    items.push({ what: isText ? what : 'not_utf8', offset: at, line, text: bytes.toString('latin1') });
    line += lineEnds(file.subarray(at, next));
    at = next;
  };
  while (at < file.length) {
    const { what, end } = modelRecord(file, at, max);
    const next = Math.min(end + 1, file.length);
    const contentEnd = end < file.length && end > at && file[end - 1] === 13 ? end - 1 : end;
    if (what === 'record' && contentEnd === at) {
      at = next;
      line += 1;
    } else take(what, what === 'too_long' || what === 'unclosed_quote' ? at + max : contentEnd, next);
  }
  return items;
}

/** Where the record (or, of one with a stray quote, its first line) that begins at `start` ends. */
function modelRecord(file: Buffer, start: number, max: number): { what: Item['what']; end: number } {
  let state: 'field start' | 'plain' | 'quoted' | 'quote' | 'quote cr' = 'field start';
  const lineEnd = (from: number) => (file.indexOf(10, from) === -1 ? file.length : file.indexOf(10, from));
  const crossed = (at: number) => lineEnds(file.subarray(start, at)) > 0;
  const stray = { what: 'stray_quote', end: lineEnd(start) } as const;
  for (let at = start; at < file.length; at += 1) {
    const char = String.fromCharCode(file[at]!);
    if (char === '\n' && state !== 'quoted') return { what: 'record', end: at };
    if (at - start === max) return modelOverLimit(file, at, state);
    if (state === 'field start') state = char === '"' ? 'quoted' : char === ',' ? 'field start' : 'plain';
    else if (state === 'plain') state = char === ',' ? 'field start' : 'plain';
    else if (state === 'quoted') state = char === '"' ? 'quote' : 'quoted';
    else if (state === 'quote' && char === '"') state = 'quoted';
    else if (state === 'quote' && char === ',') state = 'field start';
    else if (state === 'quote' && char === '\r') state = 'quote cr';
    else if (crossed(at)) return stray;
    else state = char === ',' ? 'field start' : 'plain';
  }
  const isStray = state === 'quoted' || (state === 'quote cr' && crossed(file.length));
  return isStray ? stray : { what: 'record', end: file.length };
}

/** From the limit on: a quote closes only before a comma, a line end or the file's end. */
function modelOverLimit(file: Buffer, limit: number, atLimit: string): { what: Item['what']; end: number } {
  let state = atLimit;
  for (let at = limit; at < file.length; at += 1) {
    const char = String.fromCharCode(file[at]!);
    if (char === '\n' && state !== 'quoted') return { what: 'too_long', end: at };
    if (state === 'field start') state = char === '"' ? 'quoted' : char === ',' ? 'field start' : 'plain';
    else if (state === 'plain') state = char === ',' ? 'field start' : 'plain';
    else if (state === 'quoted') state = char === '"' ? 'quote' : 'quoted';
    else if (state === 'quote' && char === ',') state = 'field start';
    else if (state === 'quote' && char === '\r') state = 'quote cr';
    else state = state === 'quote cr' && char === '"' ? 'quote' : 'quoted';
  }
  return { what: state === 'quoted' ? 'unclosed_quote' : 'too_long', end: file.length };
}

function lineEnds(bytes: Buffer): number {
  return bytes.filter((byte) => byte === 10).length;
}

function split(chunks: Uint8Array[], options: SplitterOptions = {}): Piece[] {
  const splitter = createCsvSplitter(options);
  return [...chunks.flatMap((chunk) => [...splitter.push(chunk)]), ...splitter.end()];
}

function itemsOf(pieces: Piece[]): Item[] {
  return pieces.flatMap((piece): Item[] => {
    if (piece.kind === 'bad') {
      const text = piece.sample.toString('latin1');
      return [{ what: piece.reason, offset: piece.offset, line: piece.line, text }];
    }
    return Array.from({ length: piece.records }, (_, i) => ({
      what: 'record',
      offset: piece.offset + piece.starts[i]!,
      line: piece.lines[i]!,
      text: recordBytes(piece, i).toString('latin1'),
    }));
  });
}

function cutAt(file: Buffer, cuts: number[]): Buffer[] {
  const places = [0, ...cuts.toSorted((a, b) => a - b), file.length];
  return places.slice(1).map((end, i) => file.subarray(places[i], end));
}

// Few tokens, so that every combination of them turns up; "x" and the like make records of all lengths.
const token = fc.constantFrom(
  '"',
  '"',
  '""',
  ',',
  ',"',
  '",',
  '\n',
  '\n',
  '\r\n',
  '\r',
  'x',
  'abc',
  'é',
  '\xff',
  '\ufeff',
);
const anyFile = fc
  .array(token, { maxLength: 40 })
  .map((tokens) => Buffer.concat(tokens.map((text) => Buffer.from(text, text === '\xff' ? 'latin1' : 'utf8'))));
// Lines that open a field, some of them wherever reading begins, so that one failed record follows on another.
const openLine = fc.constantFrom(
  'a","b',
  'a","b',
  '","',
  '"',
  '"x',
  '',
  'x',
  'x,',
  'x"',
  '""',
  '"",y","z',
  '"x",',
  '"\r',
);
const openFile = fc.array(openLine, { maxLength: 15 }).map((lines) => Buffer.from(lines.join('\n')));
const file = fc.oneof(anyFile, openFile);

describe('the CSV splitter', () => {
  test('splits any bytes as the plain model does, whatever the chunks and runs', () => {
    const cuts = fc.array(fc.nat({ max: 60 }), { maxLength: 5 });
    fc.assert(
      fc.property(
        file,
        cuts,
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 4, max: 30 }),
        (bytes, places, maxRunBytes, maxRecordBytes) => {
          const chunks = cutAt(
            bytes,
            places.map((place) => Math.min(place, bytes.length)),
          );
          expect(itemsOf(split(chunks, { maxRunBytes, maxRecordBytes }))).toEqual(model(bytes, maxRecordBytes));
        },
      ),
      { numRuns: sampledRuns(5000) },
    );
  });

  test('gives the same records with a chunk boundary on every byte', () => {
    fc.assert(
      fc.property(file, (bytes) => {
        const expected = model(bytes, MAX);
        for (let at = 0; at <= bytes.length; at += 1) {
          expect(itemsOf(split(cutAt(bytes, [at]), { maxRecordBytes: MAX }))).toEqual(expected);
        }
        expect(
          itemsOf(
            split(
              Array.from(bytes, (byte) => Buffer.of(byte)),
              { maxRecordBytes: MAX },
            ),
          ),
        ).toEqual(expected);
      }),
      { numRuns: sampledRuns(500) },
    );
  });

  test('resumes at the end of any piece and after any record as if it had never stopped', () => {
    fc.assert(
      fc.property(file, (bytes) => {
        const pieces = split([bytes], { maxRecordBytes: MAX });
        const all = itemsOf(pieces);
        const places = pieces.flatMap((piece) =>
          piece.kind === 'bad'
            ? [{ offset: piece.endOffset, line: piece.endLine }]
            : Array.from({ length: piece.records }, (_, i) => resumeAfter(piece, i)),
        );
        for (const { offset, line } of places) {
          const rest = split([bytes.subarray(offset)], { maxRecordBytes: MAX, startOffset: offset, startLine: line });
          expect(itemsOf(rest)).toEqual(all.filter((item) => item.offset >= offset));
        }
        expect(places).toHaveLength(all.length);
      }),
      { numRuns: sampledRuns(2000) },
    );
  });

  test('gives pieces in order whose bytes are the file’s', () => {
    fc.assert(
      fc.property(file, fc.integer({ min: 1, max: 20 }), (bytes, maxRunBytes) => {
        let reached = 0;
        for (const piece of split([bytes], { maxRunBytes, maxRecordBytes: MAX })) {
          expect(piece.offset).toBeGreaterThanOrEqual(reached);
          expect(piece.endLine).toBe(1 + lineEnds(bytes.subarray(0, piece.endOffset)));
          if (piece.kind === 'run') expect(piece.bytes).toEqual(bytes.subarray(piece.offset, piece.endOffset));
          reached = piece.endOffset;
        }
      }),
    );
  });
});

describe('a dirty file', () => {
  const lines = (text: string | Buffer, options?: SplitterOptions) =>
    itemsOf(split([Buffer.from(text)], options)).map(({ what, line, text: found }) => `${line} ${what} ${found}`);

  test('may mix line ends, have empty lines, a BOM and no last line end', () => {
    expect(lines('\ufeffa\n\r\nb\r\n\n\nc\rd\ne')).toEqual(['1 record a', '3 record b', '6 record c\rd', '7 record e']);
  });

  test('has a BOM only at its very start', () => {
    const [piece] = split([Buffer.from('\ufeffa')], { startOffset: 10, startLine: 2 });
    expect(piece).toMatchObject({ offset: 10, line: 2, endOffset: 14 });
  });

  test('counts the lines inside quoted fields', () => {
    expect(lines('a,"b\nc\r\n""d"\ne')).toEqual(['1 record a,"b\nc\r\n""d"', '4 record e']);
  });

  test('loses one line to a stray quote that nothing closes', () => {
    expect(lines('a\nu,"x\nb,c\nd')).toEqual(['1 record a', '2 stray_quote u,"x', '3 record b,c', '4 record d']);
  });

  test('loses one line to a stray quote that a later, sound quote seems to close', () => {
    expect(lines('u,"x\nb\nv,"y, z"\nc')).toEqual([
      '1 stray_quote u,"x',
      '2 record b',
      '3 record v,"y, z"',
      '4 record c',
    ]);
  });

  test('loses one line to a row that is not UTF-8', () => {
    expect(lines(Buffer.from('a\nb\xe9\nc\n\xe9\nd', 'latin1'))).toEqual([
      '1 record a',
      '2 not_utf8 b\xe9',
      '3 record c',
      '4 not_utf8 \xe9',
      '5 record d',
    ]);
  });

  test('loses one record to the limit, whose length is that of the line', () => {
    const options = { maxRecordBytes: 5 };
    expect(lines('12345\n123456\r\na', options)).toEqual(['1 record 12345', '2 too_long 12345', '3 record a']);
    expect(lines('"1234567"\na', options)).toEqual(['1 too_long "1234', '2 record a']);
    expect(lines('123456', options)).toEqual(['1 too_long 12345']);
  });

  test('reads no line of a quoted field over the limit as a record, also where a quote stands in its text', () => {
    const options = { maxRecordBytes: 5 };
    expect(lines('u,"1\nv,s\n"z" ""\nw,""\n",x,"y\n"\na', options)).toEqual(['1 too_long u,"1\n', '7 record a']);
    expect(lines('u,"1\nv,s\n"z\r', options)).toEqual(['1 unclosed_quote u,"1\n']);
  });

  test('takes a record of exactly 1 MiB, and one byte more is too long', () => {
    const exact = Buffer.alloc(1024 * 1024, 'x');
    const kinds = split([exact, Buffer.from('\n'), exact, Buffer.from('x\nb')]).map((piece) =>
      piece.kind === 'bad' ? `${piece.reason} ${piece.sample.length}` : `${piece.records} of ${piece.bytes.length}`,
    );
    expect(kinds).toEqual(['1 of 1048577', 'too_long 2048', '1 of 1']);
  });

  test('keeps what is not UTF-8, and the first line of a stray quote, whole and apart from the chunk', () => {
    const exact = Buffer.alloc(1024 * 1024 - 3, 'x');
    const chunk = Buffer.concat([
      exact,
      Buffer.from('\xff\r\n"', 'latin1'),
      exact.subarray(8),
      Buffer.from('\na"b\n'),
      exact,
    ]);
    const pieces = split([chunk]);
    const bad = pieces.filter((piece) => piece.kind === 'bad');
    expect(bad.map(({ reason, sample }) => `${reason} ${sample.length}`)).toEqual([
      'not_utf8 1048574',
      'stray_quote 1048566',
    ]);
    expect(Math.max(...bad.map(({ sample }) => sample.buffer.byteLength))).toBeLessThan(1024 * 1024);
  });
});

describe('a hostile file', () => {
  test('of one endless line is read without being kept', () => {
    const chunk = Buffer.alloc(1024 * 1024, 'x');
    const before = process.memoryUsage().arrayBuffers;
    const splitter = createCsvSplitter();
    let most = 0;
    for (let i = 0; i < 200; i += 1) {
      expect([...splitter.push(chunk)]).toEqual([]);
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
    expect([...splitter.end()]).toMatchObject([{ reason: 'too_long', offset: 0, endOffset: 200 * 1024 * 1024 }]);
    expect(most).toBeLessThan(100 * 1024 * 1024);
  });

  test('of one long record in tiny chunks is not copied for each of them', () => {
    const splitter = createCsvSplitter();
    const chunk = Buffer.from('xxxxxxxx');
    expect(
      cpuTime(() => {
        for (let size = 0; size < 1024 * 1024; size += chunk.length) expect([...splitter.push(chunk)]).toEqual([]);
        expect([...splitter.end()]).toMatchObject([{ kind: 'run', records: 1 }]);
      }),
    ).toBeLessThan(5_000);
  });

  test.each([
    ['quotes that stay open', 'a","b\n', 1],
    ['quotes that the next line closes badly', '"abc\n', (8 * 1024 * 1024) / 5 - 1],
    ['two quotes that stay open', '"",a","b\n', 1],
  ])('with %s on every line takes linear time', (_, line, leastBad) => {
    const lineCount = Math.floor((8 * 1024 * 1024) / line.length);
    const bytes = Buffer.from(line.repeat(lineCount));
    const splitter = createCsvSplitter();
    let bad = 0;
    expect(
      cpuTime(() => {
        for (let at = 0; at < bytes.length; at += 65536) {
          for (const piece of splitter.push(bytes.subarray(at, at + 65536))) bad += piece.kind === 'bad' ? 1 : 0;
        }
        for (const piece of splitter.end()) bad += piece.kind === 'bad' ? 1 : 0;
      }),
    ).toBeLessThan(30_000); // a scan of 1 MiB for each line takes half an hour
    expect(bad).toBeGreaterThanOrEqual(Math.floor(leastBad)); // of quotes that close each other, the last has none
  });
});

/** Detects the encoding of a text file, and converts it to UTF-8. */
import { Buffer } from 'node:buffer';
import type { Encoding } from './csv-bytes.ts';

const MARKS: [Encoding, number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
];

/** Returns the encoding of the byte order mark, else `set`. `head` has at least 3 bytes. */
export function encodingOf(head: Uint8Array, set: Encoding | undefined): Encoding {
  const found = MARKS.find(([, mark]) => mark.every((byte, at) => head[at] === byte));
  return found?.[0] ?? set ?? 'utf-8';
}

/** Converts a file to UTF-8 chunk by chunk, without UTF-16's byte order mark; `end` returns the rest. */
export type Transcoder = { push(chunk: Buffer): Buffer; end(): Buffer };

export function createTranscoder(encoding: Encoding): Transcoder {
  if (encoding === 'utf-8') return { push: (chunk) => chunk, end: () => Buffer.alloc(0) };
  if (encoding === 'utf-16le' || encoding === 'utf-16be') return new Utf16(encoding === 'utf-16be');
  if (encoding === 'latin-1')
    return { push: (chunk) => Buffer.from(chunk.toString('latin1')), end: () => Buffer.alloc(0) };
  const decoder = new TextDecoder(encoding);
  return {
    push: (chunk) => Buffer.from(decoder.decode(chunk, { stream: true })),
    end: () => Buffer.from(decoder.decode()),
  };
}

/** A byte that UTF-8 never contains: a record with it fails alone as not UTF-8. */
const NO_UTF8 = Buffer.from([0xff]);
const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

class Utf16 implements Transcoder {
  readonly #isBigEndian: boolean;
  #isAtStart = true;
  /** The bytes of an incomplete character: part of a unit, or a surrogate whose other half is still to come. */
  #rest = Buffer.alloc(0);

  constructor(isBigEndian: boolean) {
    this.#isBigEndian = isBigEndian;
  }

  push(chunk: Buffer): Buffer {
    const bytes = Buffer.concat([this.#rest, chunk]);
    let end = bytes.length - (bytes.length % 2);
    const lastUnit = end === 0 ? 0 : this.#isBigEndian ? bytes.readUInt16BE(end - 2) : bytes.readUInt16LE(end - 2);
    if (lastUnit >= 0xd800 && lastUnit < 0xdc00) end -= 2;
    this.#rest = bytes.subarray(end);
    return this.#decode(bytes.subarray(0, end));
  }

  end(): Buffer {
    const { length } = this.#rest;
    return length === 0 ? this.#rest : NO_UTF8;
  }

  #decode(bytes: Buffer): Buffer {
    if (bytes.length === 0) return bytes;
    let text = (this.#isBigEndian ? bytes.swap16() : bytes).toString('utf16le');
    if (this.#isAtStart && text.startsWith('\ufeff')) text = text.slice(1);
    this.#isAtStart = false;
    if (text.isWellFormed()) return Buffer.from(text);
    return Buffer.concat(
      text.split(LONE_SURROGATE).flatMap((part, index) => [...(index === 0 ? [] : [NO_UTF8]), Buffer.from(part)]),
    );
  }
}

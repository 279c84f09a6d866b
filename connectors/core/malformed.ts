import { withoutCutWord } from '../../domain/text/text-limits.ts';
import type { ReadItem } from './contract.ts';

const SHOWN_BYTES = 2 * 1024;

/**
 * Returns a malformed record, cut to 2 KiB of text. Bytes that are not UTF-8 show as U+FFFD; a cut letter is left out,
 * and so is a cut word, which may be an id.
 */
export function malformed(raw: Buffer | string, message: string): ReadItem {
  // No letter has less than a byte, so text that is not shown need not be encoded.
  const bytes = typeof raw === 'string' ? Buffer.from(raw.slice(0, SHOWN_BYTES)) : raw;
  const text = decodeWhole(bytes.subarray(0, SHOWN_BYTES));
  const shown = Buffer.byteLength(text) > SHOWN_BYTES ? decodeWhole(Buffer.from(text).subarray(0, SHOWN_BYTES)) : text;
  const isCut = [raw.length, bytes.length, Buffer.byteLength(text)].some((length) => length > SHOWN_BYTES);
  return { kind: 'malformed', raw: isCut ? withoutCutWord(shown) : shown, message };
}

function decodeWhole(bytes: Buffer): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
}

type Headers = Record<string, string>;

/** Identifies a version of a file, byte for byte, as If-Range requires (RFC 9110, 13.1.5). */
export type FileVersion = { header: 'etag' | 'last-modified'; validator: string };

/** A part of a file: bytes from `start` up to, and without, `end`, of `total`. */
export type FilePart = { start: number; end: number; total: number };

const STRONG_ETAG = /^"[\x21\x23-\x7e\x80-\xff]*"$/;
const CONTENT_RANGE = /^bytes (?<first>\d{1,15})-(?<last>\d{1,15})\/(?<total>\d{1,15})$/i;

/**
 * Returns the version in an answer. With an entity tag the date is ignored, even if the tag is weak, which means that
 * the bytes may differ. A date counts if the answer is at least a second younger, because the file may change again
 * within the second (RFC 9110, 8.8.2.2).
 */
export function fileVersion(headers: Headers): FileVersion | undefined {
  const { etag, 'last-modified': modified, date } = headers;
  if (etag !== undefined) return STRONG_ETAG.test(etag) ? { header: 'etag', validator: etag } : undefined;
  if (modified === undefined || date === undefined) return undefined;
  return Date.parse(date) - Date.parse(modified) >= 1000 ? { header: 'last-modified', validator: modified } : undefined;
}

/** Reads Content-Range for one part, with the whole file's size (RFC 9110, 14.4). */
export function filePart(headers: Headers): FilePart | undefined {
  const { first, last, total } = CONTENT_RANGE.exec(headers['content-range'] ?? '')?.groups ?? {};
  const part = { start: Number(first), end: Number(last) + 1, total: Number(total) };
  return part.start < part.end && part.end <= part.total ? part : undefined;
}

export function contentLength(headers: Headers): number | undefined {
  const length = headers['content-length'];
  return length !== undefined && /^\d{1,15}$/.test(length) ? Number(length) : undefined;
}

import { setTimeout as delay } from 'node:timers/promises';
import { GetObjectCommand, type S3Client } from '@aws-sdk/client-s3';

/** So often in a row an answer may break off without having brought anything. */
const BREAKS_IN_A_ROW = 6;
const FIRST_WAIT_MS = 100;

/**
 * The bytes of an object from `start` on, at most `length`: none where it has no more. It is asked for when the first
 * are wanted. An answer that breaks off, as one does whose reader lets it wait for long, goes on where it was, and only
 * in the same object.
 */
export async function* readObject(
  client: S3Client,
  place: { Bucket: string; Key: string },
  start: number,
  length: number,
): AsyncGenerator<Uint8Array> {
  const end = start + length;
  let at = start;
  let etag: string | undefined;
  for (let breaks = 0; at < end;) {
    const answer = await client
      .send(new GetObjectCommand({ ...place, Range: rangeOf(at, end), IfMatch: etag }))
      .catch(nullBehindTheEnd);
    if (!answer) return;
    if (at > 0 && !answer.ContentRange?.startsWith(`bytes ${at}-`))
      throw new Error('S3 sent another part of an object than was asked for');
    etag = answer.ETag;
    try {
      for await (const piece of answer.Body as AsyncIterable<Uint8Array>) {
        yield piece;
        at += piece.byteLength;
        breaks = 0;
      }
      return;
    } catch (error) {
      breaks += 1;
      if (breaks >= BREAKS_IN_A_ROW) throw error;
      await delay(FIRST_WAIT_MS * 2 ** breaks);
    }
  }
}

function rangeOf(from: number, end: number): string | undefined {
  return from === 0 && end === Infinity ? undefined : `bytes=${from}-${end === Infinity ? '' : end - 1}`;
}

/** S3 calls a range that begins there, or any of an empty object, one that it can't satisfy. */
function nullBehindTheEnd(error: Error & { $metadata?: { httpStatusCode?: number } }): null {
  if (error.$metadata?.httpStatusCode === 416) return null;
  throw error;
}

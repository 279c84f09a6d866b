/** Signed lists of people to delete, which Millrace puts into the buckets of exporters. */
import { z } from 'zod';
import { documentSignature } from '../core/document-signature.ts';
import { type Sign, signDocument } from '../core/signed-document.ts';

/** Stage of a deletion that puts the lists of erased people into the buckets of exporters. */
export const TELLING_EXPORTERS = 'telling exporters';

const hmac = z.string().regex(/^[0-9a-f]{64}$/);

const RULE =
  'Delete all rows of these user_id and device_id that are from before erased_at, whenever they are loaded. An id is ' +
  "HMAC-SHA-256 over its UTF-8 bytes, in lower-case hexadecimal; the key is the 32 bytes of the exporter's deletion_key.";

const unsigned = z.object({
  version: z.literal(1),
  exporter: z.string(),
  entity: z.string(),
  list: z.string(),
  request: z.string(),
  erased_at: z.iso.datetime(),
  algorithm: z.literal('HMAC-SHA-256'),
  identifiers: z.object({ user_id: z.array(hmac), device_id: z.array(hmac) }),
  rule: z.string(),
});

/** A list of people to delete, as it lies in an exporter's bucket. Unknown members are dropped. */
export const deletionListSchema = unsigned.extend({ signature: documentSignature });

export type DeletionList = z.infer<typeof deletionListSchema>;
export type ListedHmacs = DeletionList['identifiers'];

export function signDeletionList(
  list: Pick<DeletionList, 'exporter' | 'entity' | 'list' | 'request' | 'erased_at' | 'identifiers'>,
  sign: Sign,
): DeletionList {
  return signDocument({ version: 1, algorithm: 'HMAC-SHA-256', rule: RULE, ...list }, sign);
}

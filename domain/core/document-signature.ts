import { z } from 'zod';

/** The signature of a document, over the canonical form (RFC 8785) of the rest of it. */
export const documentSignature = z.object({ algorithm: z.literal('Ed25519'), key_id: z.string(), value: z.string() });

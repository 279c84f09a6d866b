import { z } from 'zod';

/** How a document of ours carries its signature: over the canonical form (RFC 8785) of all the rest of it. */
export const documentSignature = z.object({ algorithm: z.literal('Ed25519'), key_id: z.string(), value: z.string() });

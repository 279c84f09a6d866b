import { z } from 'zod';
import { JSON_HEADERS, Reply } from '../http/reply.ts';
import { type Route, route } from '../http/route.ts';

/** A verifier may keep the keys for an hour: a new one is published with the start that draws it. */
const HEADERS = { ...JSON_HEADERS, 'cache-control': 'public, max-age=3600' };

const listSigningKeys = route({
  method: 'GET',
  path: '/.well-known/jwks.json',
  summary: 'Get the public keys that sign export manifests, deletion lists and receipts',
  description: 'A JWK set (RFC 7517) without the envelope: Ed25519, the newest key first, older ones for ever.',
  tag: 'Data exporters',
  auth: 'none',
  result: z.object({
    keys: z.array(z.object({
      kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: z.string().describe('The key, in base64url'), kid: z.string(),
      use: z.literal('sig'), alg: z.literal('EdDSA'),
    })),
  }),
  bare: true,
  handle: async (_input, { secrets }) => new Reply({ keys: secrets.signingKeys() }, 200, HEADERS),
});

export const signingKeyRoutes: Route[] = [listSigningKeys];

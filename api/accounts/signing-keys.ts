import { z } from 'zod';
import { operation } from '../core/operation.ts';

export const SigningKey = z
  .object({
    kty: z.literal('OKP'),
    crv: z.literal('Ed25519'),
    x: z.string().describe('The public key in base64url'),
    kid: z.string(),
    use: z.literal('sig'),
    alg: z.literal('EdDSA'),
  })
  .meta({ id: 'SigningKey' });
export type SigningKey = z.output<typeof SigningKey>;

export const listSigningKeys = operation({
  id: 'listSigningKeys',
  method: 'GET',
  path: '/.well-known/jwks.json',
  summary: 'Get the public keys that verify signatures',
  description:
    'The keys verify export manifests, deletion lists and receipts. The response is a JWK set (RFC 7517) without the ' +
    'envelope: Ed25519 keys, newest first. Millrace keeps old keys for ever.',
  tag: 'Data exporters',
  auth: 'none',
  result: z.object({ keys: z.array(SigningKey) }),
  bare: true,
});

import { certificate } from '../../harness/core/http-source.ts';
import { rememberSecret } from '../../harness/core/people.ts';

type Pems = { x509_pem: string; pkey_pem: string };

const SUBJECT = '/UID=com.example.shop/CN=Apple Push Services: com.example.shop/OU=TEAM123456/O=Example/C=FR';
const made: Promise<Pems>[] = [];

/** A push certificate and its key as Apple gives them out, made once in a file: the same number gives the same one. */
export function sampleCertificate(number: number): Promise<Pems> {
  return (made[number] ??= newCertificate());
}

/** `days` until it expires: one of -1 has. */
export async function newCertificate({ days = 30, subject = SUBJECT } = {}): Promise<Pems> {
  const { cert, key } = await certificate({ subject, days, keyType: 'rsa' });
  rememberSecret(key.split('\n')[3]!);
  return { x509_pem: cert, pkey_pem: key };
}

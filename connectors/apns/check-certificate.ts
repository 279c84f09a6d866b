import { X509Certificate } from 'node:crypto';
import type { PushFinding } from '../push/contract.ts';
import { DAY_MS } from '../../domain/core/durations.ts';

export type ApnsEnvironment = 'production' | 'sandbox';

/** Of the extensions by which Apple marks what a certificate is for, DER-encoded: 1.2.840.113635.100.6.3.1 and .2. */
const EXTENSIONS: Record<ApnsEnvironment, Buffer> = {
  sandbox: Buffer.from('060a2a864886f76364060301', 'hex'),
  production: Buffer.from('060a2a864886f76364060302', 'hex'),
};
const SOON_MS = 30 * DAY_MS;

/** What can be seen of a push certificate without asking Apple. */
export function checkCertificate(
  pem: string,
  { topic, environment, now }: { topic: string; environment: ApnsEnvironment; now: number },
): PushFinding[] {
  const certificate = new X509Certificate(pem);
  const [from, until] = [certificate.validFromDate, certificate.validToDate];
  const field = 'push_certificates';
  if (until.getTime() <= now) {
    const message = `hold a current certificate that expired on ${until.toISOString()}: add a new one, and revoke it`;
    return [{ severity: 'error', field, message }];
  }
  const findings: PushFinding[] = [];
  if (from.getTime() > now) {
    findings.push({
      severity: 'error',
      field,
      message: `hold a current certificate that is not valid before ${from.toISOString()}`,
    });
  }
  if (until.getTime() < now + SOON_MS) {
    const message = `hold a current certificate that expires on ${until.toISOString()}: renew it before`;
    findings.push({ severity: 'warning', field, message });
  }
  const uid = certificate.subject
    .split('\n')
    .find((name) => name.startsWith('UID='))
    ?.slice('UID='.length);
  if (uid !== undefined && topic !== uid && !topic.startsWith(`${uid}.`)) {
    findings.push({
      severity: 'error',
      field: 'topic',
      message: `is ${topic}, and the current push certificate is for ${uid}`,
    });
  }
  const isFor = (which: ApnsEnvironment) => certificate.raw.includes(EXTENSIONS[which]);
  const other = environment === 'production' ? 'sandbox' : 'production';
  if (isFor(other) && !isFor(environment)) {
    const message = `is ${environment}, and the current push certificate is for ${other} alone`;
    findings.push({ severity: 'error', field: 'environment', message });
  }
  return findings;
}

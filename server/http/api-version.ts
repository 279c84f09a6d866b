export type ApiVersion = 2 | 3;

const V3 = /^application\/vnd\.svc\.v3(\+json)?$/i;

/** v3 where `Accept` names `application/vnd.svc.v3`, else v2: a wildcard never selects v3 (reference: Versioning). */
export function apiVersion(accept: string | undefined): ApiVersion {
  return (accept ?? '').split(',').some((range) => V3.test(range.split(';')[0]!.trim())) ? 3 : 2;
}

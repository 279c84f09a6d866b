import { Refusal } from '../../domain/core/refusal.ts';

/** S3 refuses to give this object: others it may give. `reason` is in its own words. */
export class ObjectRefused extends Refusal {
  readonly reason: string;

  constructor(what: string, reason: string) {
    super(502, 's3', `S3 does not give ${what}: ${reason}`);
    this.reason = reason;
  }
}

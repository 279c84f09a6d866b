import { Refusal } from '../../domain/core/refusal.ts';

/** S3 refuses this object, but may give others. `reason` is in S3's own words. */
export class ObjectRefused extends Refusal {
  readonly reason: string;

  constructor(what: string, reason: string) {
    super(502, 's3', `S3 does not give ${what}: ${reason}`);
    this.reason = reason;
  }
}

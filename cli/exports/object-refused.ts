import { Refusal } from '../../domain/core/refusal.ts';

/** A refusal of one object; S3 may give others. `reason` is in S3's own words. */
export class ObjectRefused extends Refusal {
  readonly reason: string;

  constructor(what: string, reason: string) {
    super(502, 's3', `S3 does not give ${what}: ${reason}`);
    this.reason = reason;
  }
}

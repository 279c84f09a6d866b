/** Counts an audience before it gets a message: people by what they get, and devices by their zones. */

import type { AttemptCode } from '../sends/attempt.ts';
import { ATTEMPT_CODES } from '../sends/attempt.ts';
import { decideDevice, type TargetDevice } from '../sends/device-decision.ts';
import type { CampaignType } from './campaign-status.ts';
import { zonesOfDevices } from './local-time.ts';

type Rules = {
  type: CampaignType;
  includesPush: boolean;
  includesInapp: boolean;
  verifiedUsers: boolean;
  /** The texts have values of a profile. */
  hasProfileValues: boolean;
  appTimezone: string;
  isHeldBack: (person: string) => boolean;
};

type Device = TargetDevice & { timezone: string | null; utcOffsetMinutes: number | null };

/** Numbers of devices: all, and those that get the push. */
export type ZoneCount = { devices: number; pushes: number };

/** Why a person gets nothing. */
type Reason = { code: AttemptCode; reason: string; details: string | null; people: number };

type Best = 'push' | 'inAppOnly' | { code: AttemptCode; details: string | null };

/** Counts devices that come by person. Each person counts once, by the best that one of their devices gets. */
export class AudienceTally {
  readonly zones = new Map<string, ZoneCount>();
  people = 0;
  push = 0;
  inAppOnly = 0;
  devices = 0;
  readonly #rules: Rules;
  readonly #reasons = new Map<string, Reason>();
  readonly #zoneOf: ReturnType<typeof zonesOfDevices>;
  #person: string | null = null;
  #best: Best | null = null;
  #isHeldBack = false;

  constructor(rules: Rules) {
    this.#rules = rules;
    this.#zoneOf = zonesOfDevices(rules.appTimezone);
  }

  /** `device`: null for a person without one. */
  add(person: string, device: Device | null): void {
    if (person !== this.#person) this.#begin(person);
    if (!device) return;
    const gets = this.#decide(person, device);
    this.devices += 1;
    const zone = this.#zoneOf(device);
    const counted = this.zones.get(zone) ?? { devices: 0, pushes: 0 };
    this.zones.set(zone, {
      devices: counted.devices + 1,
      pushes: counted.pushes + (gets === 'push' ? 1 : 0),
    });
    this.#best = betterOf(this.#best, gets);
  }

  /** Counts the last person. Call it once, at the end. Returns why people get nothing, most people first. */
  end(): Reason[] {
    this.#end();
    return [...this.#reasons.values()].toSorted((one, other) => other.people - one.people);
  }

  #begin(person: string): void {
    this.#end();
    this.#person = person;
    this.#best = null;
    this.#isHeldBack = this.#rules.isHeldBack(person);
  }

  #end(): void {
    if (this.#person === null) return;
    this.people += 1;
    const best = this.#best ?? { code: 'NO_DEVICE_FOR_USER', details: null };
    if (best === 'push') this.push += 1;
    else if (best === 'inAppOnly') this.inAppOnly += 1;
    else this.#count(best);
  }

  #count({ code, details }: { code: AttemptCode; details: string | null }): void {
    const key = `${code} ${details}`;
    const reason = this.#reasons.get(key) ?? { code, reason: ATTEMPT_CODES[code], details, people: 0 };
    reason.people += 1;
    this.#reasons.set(key, reason);
  }

  #decide(person: string, device: Device): Best {
    if (this.#isHeldBack) return { code: 'CONTROL_GROUP', details: null };
    const { push, inapp, code, details } = decideDevice(
      device,
      person.startsWith('u') ? person.slice(1) : null,
      this.#rules,
      this.#rules,
    );
    return push ? 'push' : inapp ? 'inAppOnly' : { code, details };
  }
}

/** Returns what counts for a person of two devices: the push, the in-app message, or the first one's reason. */
function betterOf(one: Best | null, other: Best): Best {
  if (one === null || other === 'push') return other;
  return one !== 'push' && other === 'inAppOnly' ? other : one;
}

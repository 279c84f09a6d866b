import { deviceFieldType } from '../../../domain/analytics/comparison.ts';
import {
  type AttributesFilter,
  type CampaignsFilter,
  type DevicesFilter,
  type EventsFilter,
  type FilterBlock,
  type FilterPeriod,
  type FunnelsFilter,
  isBlock,
  type SegmentFilter,
  type SegmentFilters,
  type SegmentsFilter,
} from '../../../domain/analytics/segment-filters.ts';
import type { ValueType } from '../../../domain/attributes/attribute-value.ts';

/** A small app as a test draws it, and who is in a segment of it, found by looking at everybody in turn. */
export type SampleData = {
  devices: SampleDevice[];
  /** Users who were seen on devices. */
  seen: [device: string, user: string][];
  values: SampleValue[];
  events: SampleModelEvent[];
  messages: SampleMessage[];
  /** Members of other segments, by their identifiers. */
  members: Record<string, string[]>;
  /** Ids that the first app has made another one: none leads on. */
  aliases: [previous: string, user: string][];
};
export type SampleDevice = {
  id: string;
  lastUser: string | null;
  country: string | null;
  appVersion: string | null;
  optIn: boolean | null;
  uninstalled: boolean | null;
  sessions: number;
  lastSeenAt: Date;
  hasToken: boolean;
};
export type SampleValue = {
  customer: { type: 'user_id' | 'device_id'; id: string };
  key: string;
  value: string | string[];
};
export type SampleModelEvent = {
  app: number;
  user: string | null;
  device: string | null;
  name: string;
  logType: number;
  at: Date;
  detail?: unknown;
};
/** What campaigns sent, by their number. Those of long ago are kept as counts. */
export type SampleMessage = {
  campaign: number;
  user: string | null;
  device: string;
  code: string;
  at: Date;
  isOpened: boolean;
  isShown: boolean;
  isClicked: boolean;
};

export type ModelOptions = {
  now: Date;
  types: Record<string, ValueType>;
  apps: string[];
  /** In the order of their numbers; `app`: its number. */
  campaigns: { identifier: string; app: number }[];
  /** Names of events that follow each other within so many ms. */
  funnel: { steps: string[]; maxMs: number };
};

export class SegmentModel {
  readonly #data: SampleData;
  readonly #options: ModelOptions;
  #filters: Pick<SegmentFilters, 'aliases'> = {};

  constructor(data: SampleData, options: ModelOptions) {
    this.#data = data;
    this.#options = options;
  }

  #onlyUser(device: string): string | null {
    const users = this.#data.seen.filter(([seenOn]) => seenOn === device).map(([, user]) => user);
    return users.length === 1 ? users[0]! : null;
  }

  personOfDevice({ id, lastUser }: Pick<SampleDevice, 'id' | 'lastUser'>): string {
    const user = lastUser ?? this.#onlyUser(id);
    return user === null ? `d${id}` : `u${user}`;
  }

  /** The person that one became, where the filters ask for it. */
  resolve(person: string, { aliases }: Pick<SegmentFilters, 'aliases'>): string {
    const became = aliases ? this.#data.aliases.find(([previous]) => previous === person.slice(1)) : undefined;
    return became ? `u${became[1]}` : person;
  }

  #personOf({ user, device }: { user: string | null; device: string | null }): string {
    if (user !== null) return `u${user}`;
    const only = this.#onlyUser(device!);
    return only === null ? `d${device}` : `u${only}`;
  }

  /** An alias is of its app alone. */
  #personOfEvent(event: SampleModelEvent): string {
    const person = this.#personOf(event);
    return event.app === 0 ? this.resolve(person, this.#filters) : person;
  }

  #resolved(person: string): string {
    return this.resolve(person, this.#filters);
  }

  #ownPeople(): string[] {
    const ofDevices = this.#data.devices
      .map((device) => this.personOfDevice(device))
      .filter((person) => person.startsWith('d'));
    const shared = this.#data.seen.map(([device]) => device).filter((device) => this.#onlyUser(device) === null);
    return [...this.#data.seen.map(([, user]) => `u${user}`), ...ofDevices, ...shared.map((device) => `d${device}`)];
  }

  people(filters: Pick<SegmentFilters, 'aliases'>): Set<string> {
    return new Set(this.#ownPeople().map((person) => this.resolve(person, filters)));
  }

  found(filters: SegmentFilters): Set<string> {
    const { operator, blocks } = filters;
    this.#filters = filters;
    return new Set(
      [...this.people(filters)].filter((person) => blocks.length === 0 || this.#isInAll(person, operator, blocks)),
    );
  }

  /** All ids of those found. */
  members(filters: SegmentFilters): Set<string> {
    const found = this.found(filters);
    return new Set(this.#ownPeople().filter((person) => found.has(this.resolve(person, filters))));
  }

  #isInAll(person: string, operator: 'and' | 'or', elements: readonly (SegmentFilter | FilterBlock)[]): boolean {
    const results = elements.map((element) =>
      isBlock(element) ? this.#isInAll(person, element.operator, element.filters) : this.#isIn(person, element),
    );
    return operator === 'and' ? results.every(Boolean) : results.some(Boolean);
  }

  #isIn(person: string, filter: SegmentFilter): boolean {
    switch (filter.filter_on) {
      case 'attributes':
        return this.#hasValue(person, filter);
      case 'devices':
        return this.#hasDevice(person, filter);
      case 'events':
        return this.#hasEvents(person, filter);
      case 'segments':
        return this.#isMember(person, filter);
      case 'funnels':
        return this.#wentThrough(person, filter);
      case 'campaigns':
        return this.#gotMessages(person, filter);
    }
  }

  #hasValue(person: string, { attribute_key: key, operator, values }: AttributesFilter): boolean {
    const own = this.#data.values.filter(({ customer, key: ofKey }) => {
      if (ofKey !== key) return false;
      if (customer.type === 'user_id') return person === this.#resolved(`u${customer.id}`);
      const device = this.#data.devices.find(({ id }) => id === customer.id);
      return device !== undefined && this.#resolved(this.personOfDevice(device)) === person;
    });
    return this.#anyMatches(
      own.map(({ value }) => value),
      this.#options.types[key]!,
      operator,
      values,
    );
  }

  #hasDevice(person: string, { field, operator, values }: DevicesFilter): boolean {
    const own = this.#data.devices
      .filter((device) => this.#resolved(this.personOfDevice(device)) === person)
      .map((device) => {
        const value = {
          country_code: device.country,
          app_version: device.appVersion,
          opt_in: device.optIn,
          uninstalled: device.uninstalled,
          number_of_sessions: device.sessions,
          last_opened_app_at: device.lastSeenAt.toISOString(),
        }[field]!;
        return value === null ? null : String(value);
      });
    return this.#anyMatches(
      own.filter((value) => value !== null),
      deviceFieldType(field)!,
      operator,
      values,
    );
  }

  #anyMatches(own: (string | string[])[], type: string, operator: string, values: string[]): boolean {
    const negated = {
      is_not: 'is',
      is_not_set: 'is_set',
      does_not_contain: 'contains',
      not_in_last_days: 'in_last_days',
      contains_none: 'contains_any',
    }[operator];
    if (negated !== undefined) return !own.some((value) => this.#matches(value, type, negated, values));
    return own.some((value) => this.#matches(value, type, operator, values));
  }

  #matches(value: string | string[], type: string, operator: string, values: string[]): boolean {
    if (Array.isArray(value)) {
      if (operator === 'is_set') return value.length > 0;
      return operator === 'contains_any'
        ? values.some((one) => value.includes(one))
        : values.every((one) => value.includes(one));
    }
    const compare = (other: string): number => compareAs(type, value, other);
    const [first, second] = values;
    switch (operator) {
      case 'is_set':
        return true;
      case 'is':
        return values.some((other) => compare(other) === 0);
      case 'contains':
        return values.some((other) => value.includes(other));
      case 'starts_with':
        return values.some((other) => value.startsWith(other));
      case 'greater_than':
      case 'after':
        return compare(first!) > 0;
      case 'at_least':
        return compare(first!) >= 0;
      case 'less_than':
      case 'before':
        return compare(first!) < 0;
      case 'at_most':
        return compare(first!) <= 0;
      case 'between':
        return compare(first!) >= 0 && compare(second!) <= 0;
      default:
        return this.#isInDays(new Date(value), { last_days: Number(first) });
    }
  }

  #isInDays(at: Date, period: FilterPeriod): boolean {
    const day = at.toISOString().slice(0, 10);
    if ('from' in period) return day >= period.from && day <= period.till;
    const today = this.#options.now.toISOString().slice(0, 10);
    const first = new Date(Date.parse(today) - (period.last_days - 1) * 86_400_000).toISOString().slice(0, 10);
    return day >= first && day <= today;
  }

  #hasEvents(person: string, filter: EventsFilter): boolean {
    const { apps } = this.#options;
    const own = this.#data.events.filter(
      (event) =>
        this.#personOfEvent(event) === person &&
        event.name === filter.log_name &&
        (filter.log_type === 0 || event.logType === filter.log_type) &&
        apps[event.app] === (filter.app_id ?? apps[0]) &&
        this.#isInDays(event.at, filter.period) &&
        hasDetail(event.detail, filter.match_details ?? []),
    ).length;
    if (filter.operator === 'exactly') return own === filter.count;
    return filter.operator === 'at_least' ? own >= filter.count : own <= filter.count;
  }

  #isMember(person: string, { selection, segment_identifiers: identifiers, operator }: SegmentsFilter): boolean {
    const isIn = identifiers.map((identifier) =>
      this.#data.members[identifier]!.some((member) => this.#resolved(member) === person),
    );
    const selected = { any_of: isIn.some(Boolean), all_of: isIn.every(Boolean), none_of: !isIn.some(Boolean) }[
      selection
    ];
    return operator === 'is_in' ? selected : !selected;
  }

  #wentThrough(person: string, { step, outcome, operator, period }: FunnelsFilter): boolean {
    const { steps, maxMs } = this.#options.funnel;
    const own = this.#data.events
      .filter(
        (event) =>
          this.#personOfEvent(event) === person &&
          event.app === 0 &&
          event.logType === 2 &&
          this.#isInDays(event.at, period),
      )
      .toSorted((a, b) => Number(a.at) - Number(b.at));
    const completes = (last: number): boolean =>
      own.some((start, index) => {
        if (start.name !== steps[0]) return false;
        let next = 1;
        for (const event of own.slice(index + 1)) {
          if (Number(event.at) - Number(start.at) <= maxMs && event.name === steps[next]) next += 1;
        }
        return next > last;
      });
    const isIn = outcome === 'completed' ? completes(step) : completes(step - 1) && !completes(step);
    return operator === 'is_in' ? isIn : !isIn;
  }

  #gotMessages(
    person: string,
    { outcome, campaign_identifiers: named, operator, last_days: days }: CampaignsFilter,
  ): boolean {
    const isIn = this.#data.messages.some((message) => {
      const { identifier, app } = this.#options.campaigns[message.campaign]!;
      const { isOpened, isShown, isClicked } = message;
      return (
        (named ? named.includes(identifier) : app === 0) &&
        this.#resolved(this.#personOf(message)) === person &&
        (days === undefined || this.#isInDays(message.at, { last_days: days })) &&
        (outcome === 'opened' ? isOpened || isClicked : message.code === 'PUSH_SENT' || isOpened || isShown)
      );
    });
    return operator === 'is_in' ? isIn : !isIn;
  }
}

function hasDetail(detail: unknown, objects: readonly Record<string, unknown>[]): boolean {
  return (
    objects.length === 0 ||
    objects.some((pairs) =>
      Object.entries(pairs).every(
        ([key, value]) => String((detail as Record<string, unknown> | undefined)?.[key]) === String(value),
      ),
    )
  );
}

function compareAs(type: string, one: string, other: string): number {
  if (type === 'Number') return Number(hundredths(one) - hundredths(other));
  if (type === 'Version') return compareVersions(one, other);
  if (type === 'Datetime') return Math.sign(Date.parse(one) - Date.parse(other));
  return one === other ? 0 : one < other ? -1 : 1;
}

/** Exact, of numbers with two decimals at most. */
function hundredths(text: string): bigint {
  const [whole, decimals = ''] = text.replace(/e0$/, '').split('.');
  return BigInt(whole! + decimals.padEnd(2, '0'));
}

/** NaN, which compares as nothing, where one has no number. */
function compareVersions(one: string, other: string): number {
  const [numbers, others] = [one, other].map((text) =>
    /\d[\d.]*/
      .exec(text)?.[0]
      .split('.')
      .filter((part) => part !== '')
      .map(Number),
  );
  if (!numbers || !others) return Number.NaN;
  for (let index = 0; index < Math.max(numbers.length, others.length); index += 1) {
    const difference = (numbers[index] ?? 0) - (others[index] ?? 0);
    if (difference !== 0) return Math.sign(difference);
  }
  return 0;
}

import type { Outside } from './outside.ts';
import type { LifeService } from './service.ts';
import { ValueModel } from './value-model.ts';

/** An object that a walk has made: what a path names. */
export type Item = {
  id: string;
  /** The object that it belongs to, where its path names that as well. */
  of?: string;
  /** It stays for the whole walk. */
  isKept?: boolean;
  isGone?: boolean;
};

/** All that a walk knows: its service, the outside systems, and two entities with the objects that it has made. */
export type Life = {
  service: LifeService;
  outside: Outside;
  entities: LifeEntity[];
  nextOrdinal(): number;
};

/** What the deletion of a person has come to, as far as a walk knows. */
export type Erasure = 'none' | 'asked' | 'readmitted';

export class LifeEntity {
  readonly name: string;
  readonly identifier: string;
  readonly token: string;
  /** The System of Records and the app that stay, with their keys. */
  readonly sor: { identifier: string; apiKey: string };
  readonly app: { identifier: string; apiKey: string; tokenKey: string; sor: string };
  readonly values = new ValueModel();
  /** The values in the app's own System of Records. */
  readonly traits = new ValueModel();
  /** By user id: what became of the person's deletion. */
  readonly erasures = new Map<string, Erasure>();
  readonly #items = new Map<string, Set<Item>>();

  constructor(made: Pick<LifeEntity, 'name' | 'identifier' | 'token' | 'sor' | 'app'>) {
    this.name = made.name;
    this.identifier = made.identifier;
    this.token = made.token;
    this.sor = made.sor;
    this.app = made.app;
  }

  items(kind: string): Set<Item> {
    const known = this.#items.get(kind) ?? new Set();
    this.#items.set(kind, known);
    return known;
  }

  add(kind: string, item: Item): void {
    if ([...this.items(kind)].some(({ id, of }) => id === item.id && of === item.of)) return;
    this.items(kind).add(item);
  }
}
